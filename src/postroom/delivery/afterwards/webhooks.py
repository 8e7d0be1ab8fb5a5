"""News for those who subscribed to it over HTTP: signed, timestamped, tried again, and given up on in the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import structlog
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    Table,
    Text,
    UniqueConstraint,
    delete,
    exists,
    insert,
    select,
    text,
    update,
)

from postroom.kernel.database.engine import Database, write_twice
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SHARED, metadata, one_of, partial_index
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import PostroomError, TargetUnavailable
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.kernel.webhooks import FORMER_HEADER, former_signature, signed_headers

if TYPE_CHECKING:
    import aiohttp


class WebhookEvent(StrEnum):
    THREAD_CREATED = "inbox.thread_created"
    THREAD_UPDATED = "inbox.thread_updated"
    REPLY_RECEIVED = "inbox.reply_received"
    ASK_OPENED = "ask.opened"
    ASK_ANSWERED = "ask.answered"
    ASK_DECLINED = "ask.declined"
    ASK_EXPIRED = "ask.expired"
    ASK_CANCELLED = "ask.cancelled"
    ASK_REVISED = "ask.revised"
    DELIVERY_BOUNCED = "delivery.bounced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    id: str
    owner_agent: str
    callback_url: str
    event_types: tuple[WebhookEvent, ...]
    secret: str = field(repr=False)
    active: bool
    description: str
    created_at_us: int
    updated_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something that happened, for all who subscribed for this agent; `id` is the same however often it is told."""

    id: str
    owner_agent: str
    type: WebhookEvent
    body: str = field(repr=False)
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One piece of news on its way to one subscriber."""

    id: str
    callback_url: str
    secret: str = field(repr=False)
    body: str = field(repr=False)
    attempts: int


# Tell them.

PAUSES_SECONDS: Final = (30.0, 120.0, 600.0)
_SUBSCRIBERS_AT_ONCE: Final = 100
_LOOK_SECONDS: Final = 2.0  # how soon what another process tells is sent from here
_log = structlog.get_logger("postroom.webhooks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """Every subscriber has a queue of its own: one that does not answer holds up its own news and nothing else."""

    store: StoredWebhooks
    poster: WebhookPost
    clock: Clock
    _queues: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def look(self) -> int:
        """Begins with every subscriber that news waits for; returns when there will be more."""
        now_us = self.clock.now_us()
        waiting, next_us = await self.store.waiting(now_us)
        for subscription_id in waiting:
            self._begin(subscription_id)
        soon_us = now_us + seconds(_LOOK_SECONDS)
        return soon_us if next_us is None else min(soon_us, next_us)

    async def idle(self) -> None:
        while self._queues:
            await asyncio.wait(set(self._queues.values()))

    async def stop(self, grace_seconds: float) -> None:
        """What is cut short here is sent again by the next start."""
        if self._queues:
            await asyncio.wait(set(self._queues.values()), timeout=grace_seconds)
        for task in self._queues.values():
            task.cancel()
        await self.poster.close()

    def _begin(self, subscription_id: str) -> None:
        if subscription_id in self._queues or len(self._queues) >= _SUBSCRIBERS_AT_ONCE:
            return
        task = asyncio.create_task(self._empty(subscription_id))
        self._queues[subscription_id] = task
        task.add_done_callback(lambda _: self._queues.pop(subscription_id, None))

    async def _empty(self, subscription_id: str) -> None:
        """One after the other, in order; what fails here is taken up again at the next round."""
        try:
            while (notice := await self.store.next_of(subscription_id, self.clock.now_us())) is not None:
                await self.send(notice)
        except PostroomError as error:
            _log.warning("webhook.unfinished", subscription=subscription_id, error_class=str(error.error_class))
        except Exception as error:
            _log.error("webhook.bug", subscription=subscription_id, error=type(error).__name__)

    async def send(self, notice: Notice) -> None:
        problem = await self._post(notice)
        attempts, now = notice.attempts + 1, self.clock.now_us()
        if problem is None:
            status, next_at = "delivered", now
        elif attempts > len(PAUSES_SECONDS):
            status, next_at = "dead_lettered", now
        else:
            status, next_at = "pending", now + seconds(PAUSES_SECONDS[attempts - 1])
        await self.store.settle(notice.id, status=status, attempts=attempts, next_at_us=next_at, error=problem)

    async def _post(self, notice: Notice) -> str | None:
        body = notice.body.encode()
        stamp = self.clock.now_us() // SECOND_US
        headers = {
            "Content-Type": "application/json",
            **signed_headers(notice.secret, notice.id, stamp, body),
            "X-Postroom-Delivery": notice.id,
            FORMER_HEADER: former_signature(notice.secret, stamp, body),
        }
        try:
            status = await self.poster.post(notice.callback_url, body, headers)
        except PostroomError as error:
            return error.message
        return None if 200 <= status < 300 else f"answered {status}"


# Notices to subscribers over HTTP: one POST, no redirects, nothing of the answer but its status.


class WebhookPost:
    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The answer's status; raises one of our errors when there was none."""
        import aiohttp  # late: what is told stands beside it, and most commands tell nobody

        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10.0, sock_connect=5.0))
        try:
            async with self._session.post(url, data=body, headers=dict(headers), allow_redirects=False) as response:
                return response.status
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise TargetUnavailable(f"the subscriber cannot be reached ({type(error).__name__})") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


# Subscriptions and the news on its way to them, on disk.

_PENDING_INDEX = text("status = 'pending'")


webhook_subscriptions = Table(
    "webhook_subscriptions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("callback_url", Text, nullable=False),
    Column("event_types", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("owner_agent", "callback_url"),
    schema=SHARED,
)


webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("subscription_id", Text, ForeignKey(webhook_subscriptions.c.id, ondelete="CASCADE"), nullable=False),
    Column("event_type", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("last_error", Text),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint(one_of("status", ("pending", "delivered", "dead_lettered")), name="status"),
    partial_index("ix_webhook_deliveries_next_at", "next_at", where=_PENDING_INDEX),
    Index("ix_webhook_deliveries_subscription_id", "subscription_id"),
    partial_index("ix_webhook_deliveries_queue", "subscription_id", "next_at", "id", where=_PENDING_INDEX),
    schema=SHARED,
)


_PENDING = text("webhook_deliveries.status = 'pending'")  # as its index has it


class StoredWebhooks:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, subscription: Subscription) -> Subscription:
        """One per owner and address: saving it again changes it."""

        def work(connection: Connection) -> Subscription:
            table = webhook_subscriptions.c
            mine = (table.owner_agent == subscription.owner_agent, table.callback_url == subscription.callback_url)
            known = connection.execute(select(webhook_subscriptions).where(*mine)).first()
            row = _subscription_row(subscription)
            if known is None:
                connection.execute(insert(webhook_subscriptions), row)
                return subscription
            row |= {"id": known.id, "created_at": known.created_at}
            connection.execute(update(webhook_subscriptions).where(*mine).values(row))
            return _subscription(connection.execute(select(webhook_subscriptions).where(*mine)).one())

        return await write_twice(self._database, work)

    async def listed(self, owner_agent: str) -> Sequence[Subscription]:
        asked = (
            select(webhook_subscriptions)
            .where(webhook_subscriptions.c.owner_agent == owner_agent)
            .order_by(webhook_subscriptions.c.id)
        )
        return await self._database.read(lambda connection: [_subscription(row) for row in connection.execute(asked)])

    async def delete(self, owner_agent: str, subscription_id: str) -> bool:
        gone = delete(webhook_subscriptions).where(
            webhook_subscriptions.c.id == subscription_id, webhook_subscriptions.c.owner_agent == owner_agent
        )
        return await self._database.write(lambda connection: connection.execute(gone).rowcount > 0)

    async def waiting(self, now_us: int) -> tuple[Sequence[str], int | None]:
        """The subscriptions something is due for, and when there will be more."""
        table = webhook_deliveries.c
        due = exists().where(table.subscription_id == webhook_subscriptions.c.id, _PENDING, table.next_at <= now_us)
        waiting = select(webhook_subscriptions.c.id).where(due)
        later = select(table.next_at).where(_PENDING, table.next_at > now_us).order_by(table.next_at).limit(1)

        def work(connection: Connection) -> tuple[list[str], int | None]:
            return list(connection.execute(waiting).scalars()), connection.execute(later).scalar()

        return await self._database.read(work)

    async def next_of(self, subscription_id: str, now_us: int) -> Notice | None:
        """The oldest that is due for this subscription."""
        table = webhook_deliveries.c
        due = (
            select(webhook_deliveries, webhook_subscriptions.c.callback_url, webhook_subscriptions.c.secret)
            .join(webhook_subscriptions, webhook_subscriptions.c.id == table.subscription_id)
            .where(table.subscription_id == subscription_id, _PENDING, table.next_at <= now_us)
            .order_by(table.next_at, table.id)
            .limit(1)
        )
        row = await self._database.read(lambda connection: connection.execute(due).first())
        return read(Notice, row) if row else None

    async def settle(self, notice_id: str, *, status: str, attempts: int, next_at_us: int, error: str | None) -> None:
        changed = (
            update(webhook_deliveries)
            .where(webhook_deliveries.c.id == notice_id)
            .values(status=status, attempts=attempts, next_at=next_at_us, last_error=error)
        )
        await self._database.write(lambda connection: connection.execute(changed).rowcount)

    async def are_any(self) -> bool:
        """Whether anybody wants to be told of anything; most households have none."""
        asked = select(webhook_subscriptions.c.id).where(webhook_subscriptions.c.active).limit(1)
        return await self._database.read(lambda connection: connection.execute(asked).first() is not None)

    async def tell(self, news: News) -> None:
        """To each who wants it, once: the same news again finds its notices there."""
        await write_twice(self._database, lambda connection: tell(connection, news))


def tell(connection: Connection, news: News) -> None:
    table = webhook_subscriptions
    asked = select(table).where(table.c.owner_agent == news.owner_agent, table.c.active)
    wanted = [row for row in connection.execute(asked) if str(news.type) in json.loads(row.event_types)]
    ids = {row.id: f"{news.id}-{row.id}" for row in wanted}
    known = select(webhook_deliveries.c.id).where(webhook_deliveries.c.id.in_(ids.values()))
    told = set(connection.execute(known).scalars())
    rows = [_pending(ids[row.id], row.id, news) for row in wanted if ids[row.id] not in told]
    if rows:
        connection.execute(insert(webhook_deliveries), rows)


def _pending(notice_id: str, subscription_id: str, news: News) -> dict[str, Any]:
    return {
        "id": notice_id,
        "subscription_id": subscription_id,
        "event_type": str(news.type),
        "body": news.body,
        "status": "pending",
        "attempts": 0,
        "next_at": news.at_us,
        "created_at": news.at_us,
    }


def _subscription_row(subscription: Subscription) -> dict[str, Any]:
    return values(subscription, event_types=json.dumps([str(one) for one in subscription.event_types]))


def _subscription(row: Row[Any]) -> Subscription:
    return read(Subscription, row, event_types=tuple(WebhookEvent(one) for one in json.loads(row.event_types)))
