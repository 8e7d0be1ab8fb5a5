"""News of delivered messages, each piece once."""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, Select, or_, select

from postroom.domain.address_folding import folded
from postroom.domain.agent_address import BUTLER_PREFIX, HOUSEHOLD_OWNER
from postroom.domain.closed_address import Closing
from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import BAD_NEWS, LateNews
from postroom.domain.time import to_text
from postroom.domain.webhook import News, WebhookEvent
from postroom.world.store.deliveries.returned_mail import came_back
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.intents.webhooks import tell
from postroom.world.store.tables.deliveries import delivery_news, delivery_receipts, delivery_requests

_requests, _receipts = delivery_requests.c, delivery_receipts.c
_LOOKED_AT: Final = 20_000  # receipts have no index by the provider's names: whoever sends much would pay for it


class StoredNews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, news: LateNews) -> DeliveryId | None:
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
    reason = came_back(connection, about, news) if news.for_good else None
    if news.kind in BAD_NEWS:
        for agent in (BUTLER_PREFIX + origin, HOUSEHOLD_OWNER):
            tell(connection, _told(about, agent, news, reason))


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
