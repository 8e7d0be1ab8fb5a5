"""Subscriptions and the news on its way to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, insert, select, text, update

from postroom.domain.webhook import News, Notice, Subscription, WebhookEvent
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.retry_conflict import write_twice
from postroom.world.store.engine.rows import read, values
from postroom.world.store.tables.webhooks import webhook_deliveries, webhook_subscriptions

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
        return _notice(row) if row else None

    async def settle(self, notice_id: str, *, status: str, attempts: int, next_at_us: int, error: str | None) -> None:
        changed = (
            update(webhook_deliveries)
            .where(webhook_deliveries.c.id == notice_id)
            .values(status=status, attempts=attempts, next_at=next_at_us, last_error=error)
        )
        await self._database.write(lambda connection: connection.execute(changed).rowcount)

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


def _notice(row: Row[Any]) -> Notice:
    return read(Notice, row)
