"""Ids that begin alike, and the request that each of them belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, Connection, select

from postroom.world.store.tables.attention import notices
from postroom.world.store.tables.deliveries import delivery_refusals, delivery_requests
from postroom.world.store.tables.inbox import notifications

Place = tuple["Column[Any]", "Column[Any]", "Column[Any] | None"]  # an id, the request behind it, and its sender

_ledger, _refusals = delivery_requests.c, delivery_refusals.c
_notices, _notes = notices.c, notifications.c
_PLACES: tuple[Place, ...] = (
    (_ledger.id, _ledger.request_id, _ledger.origin_butler),
    (_ledger.request_id, _ledger.request_id, _ledger.origin_butler),
    (_refusals.request_id, _refusals.request_id, _refusals.origin_butler),
    (_notices.request_id, _notices.request_id, _notices.agent),
    (_notes.id, _notes.id, None),
)


def ids_with_prefix(connection: Connection, prefix: str, *, origin: str | None, most: int) -> dict[str, str]:
    """Some of them, newest first, each with its request; with an `origin`, only what that sender has sent."""
    found = dict(pair for place in _PLACES for pair in _pairs(connection, place, prefix, origin, most))
    return dict(sorted(found.items(), reverse=True)[:most])


def _pairs(
    connection: Connection, place: Place, prefix: str, origin: str | None, most: int
) -> Iterator[tuple[str, str]]:
    """By likeness and not by range: what comes after what depends on the server's language."""
    identifier, request, sender = place
    asked = select(identifier, request).where(identifier.startswith(prefix, autoescape=True)).distinct()
    if origin is not None:
        if sender is None:
            return
        asked = asked.where(sender == origin)
    for row in connection.execute(asked.order_by(identifier.desc()).limit(most)):
        yield row[0], row[1]
