"""Which of some deliveries are over."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from postroom.domain.ids import DeliveryId
from postroom.world.store.tables.deliveries import delivery_requests

_MOST_AT_ONCE = 1000  # neither database takes any number of values in one statement


def settled_among(connection: Connection, ids: Sequence[str]) -> list[DeliveryId]:
    found: list[DeliveryId] = []
    for start in range(0, len(ids), _MOST_AT_ONCE):
        some = delivery_requests.c.id.in_(ids[start : start + _MOST_AT_ONCE])
        over = select(delivery_requests.c.id).where(some, delivery_requests.c.terminal_at.is_not(None))
        found += [DeliveryId(one) for one in connection.execute(over).scalars()]
    return found
