"""News of delivered messages, each piece once."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Select, or_, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import LateNews
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.deliveries import delivery_news, delivery_receipts, delivery_requests

_requests, _receipts = delivery_requests.c, delivery_receipts.c
_LOOKED_AT: Final = 20_000  # receipts have no index by the provider's names: whoever sends much would pay for it


class StoredNews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, news: LateNews) -> DeliveryId | None:
        if (about := await self._database.read(partial(_about, news=news))) is None:
            return None
        return await self._database.write(partial(_keep, about=about, news=news))


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
    held = select(_requests.id).where(_requests.id == about).with_for_update(read=True)
    if connection.execute(held).first() is None:
        return None
    insert = postgres_insert if connection.dialect.name == "postgresql" else sqlite_insert
    row = {
        "delivery_request_id": about,
        "kind": str(news.kind),
        "event_id": news.event_id,
        "words": news.words,
        "at": news.at_us,
    }
    connection.execute(insert(delivery_news).values(row).on_conflict_do_nothing())
    return DeliveryId(about)
