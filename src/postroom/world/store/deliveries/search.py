"""Deliveries as a reader sees them: one by id, its attempts, or pages of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, select

from postroom.domain.delivery import Status
from postroom.domain.enquiry import DeliveryQuery
from postroom.world.store.deliveries.context import approval_of
from postroom.world.store.deliveries.readable_rows import readable
from postroom.world.store.deliveries.summary import SUMMARY
from postroom.world.store.deliveries.trace import trace
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.deliveries import (
    IS_RARE,
    RARE,
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_requests,
)

_requests = delivery_requests.c
_attempts = delivery_attempts.c


class StoredDeliveries:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def delivery(self, delivery_id: str) -> dict[str, Any] | None:
        return await self._database.read(partial(delivery, delivery_id=delivery_id))

    async def attempts(self, delivery_id: str) -> Sequence[dict[str, Any]] | None:
        return await self._database.read(partial(attempts, delivery_id=delivery_id))

    async def approval(self, delivery_id: str) -> dict[str, Any] | None:
        return await self._database.read(partial(approval_of, delivery_id=delivery_id))

    async def news(self, delivery_id: str) -> Sequence[dict[str, Any]]:
        return await self._database.read(partial(news, delivery_id=delivery_id))

    async def search(self, query: DeliveryQuery) -> Sequence[dict[str, Any]]:
        return await self._database.read(partial(search, query=query))

    async def trace(self, request_id: str) -> dict[str, Any]:
        return await self._database.read(partial(trace, request_id=request_id))


def delivery(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    """No content: that is for the trace."""
    wanted = select(*SUMMARY, _requests.idempotency_key, _requests.on_uncertain, _requests.not_before).where(
        _requests.id == delivery_id
    )
    row = connection.execute(wanted).mappings().first()
    if row is None:
        return None
    shown = readable(row)
    not_before = shown.pop("not_before")
    latest = select(delivery_attempts).where(_attempts.delivery_request_id == delivery_id)
    last = connection.execute(latest.order_by(_attempts.attempt_number.desc()).limit(1)).mappings().first()
    quarantined = select(delivery_dead_letter.c.id).where(delivery_dead_letter.c.delivery_request_id == delivery_id)
    return shown | {
        "next_attempt_at": not_before if row["status"] == Status.PENDING else None,
        "dead_letter_id": connection.execute(quarantined).scalar(),
        "latest_attempt": readable(last) if last else None,
    }


def attempts(connection: Connection, delivery_id: str) -> list[dict[str, Any]] | None:
    made = select(delivery_attempts).where(_attempts.delivery_request_id == delivery_id)
    rows = connection.execute(made.order_by(_attempts.attempt_number)).mappings().all()
    if not rows and connection.execute(select(_requests.id).where(_requests.id == delivery_id)).first() is None:
        return None
    return [readable(row) for row in rows]


def news(connection: Connection, delivery_id: str) -> list[dict[str, Any]]:
    table = delivery_news.c
    asked = select(delivery_news).where(table.delivery_request_id == delivery_id).order_by(table.at, table.event_id)
    return [readable(row) for row in connection.execute(asked).mappings()]


def search(connection: Connection, query: DeliveryQuery) -> list[dict[str, Any]]:
    return [readable(row) for row in connection.execute(_matching(query)).mappings()]


def _matching(query: DeliveryQuery) -> Select[Any]:
    """An id is a time, so newest first is simply downward by id."""
    found = select(*SUMMARY).order_by(_requests.id.desc()).limit(query.page.limit + 1)
    for column, value in (
        (_requests.origin_butler, query.origin_butler),
        (_requests.channel, query.channel),
        (_requests.intent, query.intent),
    ):
        if value is not None:
            found = found.where(column == str(value))
    if query.status is not None:
        found = found.where(*_in_status(query.status))
    if query.since_us is not None:
        found = found.where(_requests.created_at >= query.since_us)
    if query.until_us is not None:
        found = found.where(_requests.created_at <= query.until_us)
    if query.page.before is not None:
        found = found.where(_requests.id < query.page.before)
    return found


def _in_status(status: Status) -> list[ColumnElement[bool]]:
    """Written out, and for a rare one with the condition of its index: only then can the index be used."""
    written = _requests.status == bindparam("status", str(status), literal_execute=True)
    return [written, IS_RARE] if status in RARE else [written]  # type: ignore[list-item]  # text is a condition, too
