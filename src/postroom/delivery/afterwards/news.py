"""What is heard of a message after it was delivered: late news of its provider, and the words a person wrote back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

import structlog
from sqlalchemy import Connection, Select, func, or_, select

from postroom.delivery.afterwards.webhooks import News, WebhookEvent, tell
from postroom.delivery.store.tables import delivery_news, delivery_receipts, delivery_replies, delivery_requests
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.values.fields import storable
from postroom.kernel.values.ids import DeliveryId, to_text
from postroom.kernel.values.principal import BUTLER_PREFIX, HOUSEHOLD_OWNER
from postroom.message.delivery import Closing, folded
from postroom.message.inbound import BAD_NEWS, InboundEvent, InboundMessage, LateNews
from postroom.people.store.tables import closed_addresses, person_addresses

LONGEST: Final = 500
_LOOKED_AT: Final = 20_000  # receipts have no index by the provider's names: whoever sends much would pay for it
_MOST_REPLIES: Final = 50  # of one delivery
_log = structlog.get_logger("postroom.delivery")
_requests, _receipts, _replies = delivery_requests.c, delivery_receipts.c, delivery_replies.c
_place = person_addresses.c


async def keep_news(record: StoredNews, news: LateNews) -> DeliveryId | None:
    """Words of a provider are data: one line of them is kept, and none is logged."""
    about = await record.keep(replace(news, words=_one_line(news.words)))
    _log.info("delivery.news", channel=news.channel, kind=str(news.kind), delivery_id=about)
    return about


def news_handler(record: StoredNews) -> Callable[[InboundEvent], Awaitable[bool]]:
    """Takes every piece of news, also of messages that are not ours: it concerns no other handler."""

    async def handle(event: InboundEvent) -> bool:
        if not isinstance(event, LateNews):
            return False
        await keep_news(record, event)
        return True

    return handle


def _one_line(words: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in storable(words))
    return " ".join(printable.split())[:LONGEST]


# -- News on disk, each piece once ---


class StoredNews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, news: LateNews) -> DeliveryId | None:
        """The delivery it is about, however often it comes; None when none of ours is meant."""
        about = await self._database.read(partial(_about, news=news))
        return await self._database.write(partial(_keep, about=about, news=news)) if about is not None else None


def _about(connection: Connection, news: LateNews) -> str | None:
    found = connection.execute(_by_our_id(news) if news.delivery_id else _by_its_id(news)).first()
    if found is None or (news.recipients and folded(found.address) not in news.recipients):
        return None
    return str(found.id)


def _by_our_id(news: LateNews) -> Select[Any]:
    known = select(_requests.id, _requests.address).where(
        _requests.id == news.delivery_id, _requests.channel == news.channel
    )
    return _there(known.outerjoin(delivery_receipts, _receipts.delivery_request_id == _requests.id), _requests, news)


def _by_its_id(news: LateNews) -> Select[Any]:
    """News comes soon, so the newest deliveries of the channel are looked at, and no more than a bounded number."""
    newest = (
        select(_requests.id, _requests.address)
        .where(_requests.channel == news.channel)
        .order_by(_requests.id.desc())
        .limit(_LOOKED_AT)
        .subquery("newest")
    )
    found = (
        select(newest.c.id, newest.c.address)
        .join(delivery_receipts, _receipts.delivery_request_id == newest.c.id)
        .where(_receipts.provider_delivery_id == news.provider_id)
        .order_by(newest.c.id.desc())
    )
    return _there(found, newest.c, news)


def _there(found: Select[Any], delivery: Any, news: LateNews) -> Select[Any]:
    """One provider's name may stand for messages at several places."""
    if news.places:
        found = found.where(or_(delivery.address.in_(news.places), _receipts.conversation.in_(news.places)))
    return found.limit(1)


def _keep(connection: Connection, about: str, news: LateNews) -> DeliveryId | None:
    """None when the delivery has left the ledger meanwhile."""
    held = select(_requests.id, _requests.origin_butler).where(_requests.id == about).with_for_update(read=True)
    if (found := connection.execute(held).first()) is None:
        return None
    row = {
        "delivery_request_id": about,
        "kind": str(news.kind),
        "event_id": news.event_id,
        "words": news.words,
        "at": news.at_us,
    }
    if connection.execute(insert_for(connection, delivery_news).values(row).on_conflict_do_nothing()).rowcount:
        _follow(connection, DeliveryId(about), found.origin_butler, news)
    return DeliveryId(about)


def _follow(connection: Connection, about: DeliveryId, origin: str, news: LateNews) -> None:
    """Once: old news that is read again closes nothing that was opened since, and is told to no one."""
    reason = _came_back(connection, about, news) if news.for_good else None
    if news.kind in BAD_NEWS:
        for agent in (BUTLER_PREFIX + origin, HOUSEHOLD_OWNER):
            tell(connection, _told(about, agent, news, reason))


def _came_back(connection: Connection, delivery_id: DeliveryId, news: LateNews) -> Closing:
    """The address is the one we wrote to, whatever a report calls it; one that somebody has proved is only doubted."""
    sent = connection.execute(select(_requests.channel, _requests.address).where(_requests.id == delivery_id)).one()
    is_here = _place.channel == sent.channel, _place.folded == folded(sent.address)
    proved = select(_place.id).where(*is_here, _place.verified_at.is_not(None)).limit(1)
    reason = Closing.DOUBTFUL if connection.execute(proved).first() else Closing.BOUNCED
    row = {
        "channel": sent.channel,
        "folded": folded(sent.address),
        "address": sent.address,
        "reason": str(reason),
        "words": news.words,
        "delivery_id": delivery_id,
        "closed_at": news.at_us,
    }
    connection.execute(insert_for(connection, closed_addresses).values(row).on_conflict_do_nothing())
    return reason


def _told(about: DeliveryId, agent: str, news: LateNews, reason: Closing | None) -> News:
    """What happened, never what was said or to whom: those who may know it can ask."""
    mark = sha256(f"{about}\x1f{news.kind}\x1f{news.event_id}\x1f{agent}".encode()).hexdigest()[:32]
    body = {
        "event_id": f"news-{mark}",
        "event_type": str(WebhookEvent.DELIVERY_BOUNCED),
        "owner_agent": agent,
        "at": to_text(news.at_us),
        "delivery_id": about,
        "channel": news.channel,
        "kind": str(news.kind),
        "address_closed": reason is Closing.BOUNCED,
    }
    text = json.dumps(body, separators=(",", ":"))
    return News(id=f"news-{mark}", owner_agent=agent, type=WebhookEvent.DELIVERY_BOUNCED, body=text, at_us=news.at_us)


# -- What people wrote back, as it came, for those who look into the record ---


class StoredReplies:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, message: InboundMessage, now_us: int) -> None:
        """Once, and only of a delivery that is ours and still in the ledger."""

        def work(connection: Connection) -> None:
            mine = select(delivery_requests.c.id).where(
                delivery_requests.c.id == message.answers, delivery_requests.c.channel == message.channel
            )
            many = select(func.count()).where(_replies.delivery_request_id == message.answers)
            if connection.execute(mine).first() is None or connection.execute(many).scalar_one() >= _MOST_REPLIES:
                return
            row = {
                "delivery_request_id": message.answers,
                "event_id": message.event_id,
                "sender": message.sender or "",
                "original": storable(message.original or ""),
                "at": message.said_at_us or now_us,
            }
            connection.execute(insert_for(connection, delivery_replies).values(row).on_conflict_do_nothing())

        await self._database.write(work)
