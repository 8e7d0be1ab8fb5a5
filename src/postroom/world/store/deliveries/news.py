"""News of delivered messages, each piece once."""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, Select, or_, select

from postroom.domain.agent_address import BUTLER_PREFIX, HOUSEHOLD_OWNER
from postroom.domain.closed_address import ClosedAddress, Closing
from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import BAD_NEWS, LateNews
from postroom.domain.time import to_text
from postroom.domain.webhook import News, WebhookEvent
from postroom.world.store.deliveries.archive import archived
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.intents.webhooks import tell
from postroom.world.store.people.closed_addresses import close
from postroom.world.store.tables.deliveries import delivery_news, delivery_receipts, delivery_requests

_requests, _receipts = delivery_requests.c, delivery_receipts.c
_LOOKED_AT: Final = 20_000  # receipts have no index by the provider's names: whoever sends much would pay for it


class StoredNews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, news: LateNews) -> DeliveryId | None:
        if (about := await self._database.read(partial(_about, news=news))) is not None:
            return await self._database.write(partial(_keep, about=about, news=news))
        if news.closes is not None and news.delivery_id is not None:
            return await self._database.write(partial(_close_archived, about=news.delivery_id, news=news))
        return None

    async def channel_of(self, delivery_id: DeliveryId) -> str | None:
        return await self._database.read(partial(_channel_of, delivery_id=delivery_id))


def _about(connection: Connection, news: LateNews) -> str | None:
    asked = _by_our_id(news) if news.delivery_id else _by_its_id(news)
    found: str | None = connection.execute(asked).scalar()
    return found


def _by_our_id(news: LateNews) -> Select[Any]:
    known = select(_requests.id).where(_requests.id == news.delivery_id, _requests.channel == news.channel)
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
        select(newest.c.id)
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
    if news.closes is not None:
        _close(connection, about, news, news.closes)
    if news.kind in BAD_NEWS:
        for agent in (BUTLER_PREFIX + origin, HOUSEHOLD_OWNER):
            tell(connection, _told(about, agent, news))


def _told(about: DeliveryId, agent: str, news: LateNews) -> News:
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
        "address_closed": news.closes is not None,
    }
    text = json.dumps(body, separators=(",", ":"))
    return News(id=f"news-{mark}", owner_agent=agent, type=WebhookEvent.DELIVERY_BOUNCED, body=text, at_us=news.at_us)


def _channel_of(connection: Connection, delivery_id: DeliveryId) -> str | None:
    found: str | None = connection.execute(select(_requests.channel).where(_requests.id == delivery_id)).scalar()
    if found is None and (record := archived(connection, delivery_id)):
        found = str(record["request"]["channel"])
    return found


def _close_archived(connection: Connection, about: DeliveryId, news: LateNews) -> DeliveryId | None:
    """Its story is written; what its reader asks for holds all the same."""
    record = archived(connection, about)
    if record is None or news.closes is None or record["request"]["channel"] != news.channel:
        return None
    address = str(record["request"]["address"])
    close(connection, _closed_address(about, news.channel, address, news, news.closes))
    return about


def _close(connection: Connection, about: DeliveryId, news: LateNews, reason: Closing) -> None:
    """The address is the one we wrote to, whatever the news calls it."""
    sent = connection.execute(select(_requests.channel, _requests.address).where(_requests.id == about)).one()
    close(connection, _closed_address(about, sent.channel, sent.address, news, reason))


def _closed_address(about: DeliveryId, channel: str, address: str, news: LateNews, reason: Closing) -> ClosedAddress:
    return ClosedAddress(
        channel=channel, address=address, reason=reason, words=news.words, delivery_id=about, at_us=news.at_us
    )
