"""Everything the ledger knows about one request, in the order it happened."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, or_, select

from postroom.domain.time import to_text
from postroom.store.tables.deliveries import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_receipts,
    delivery_refusals,
    delivery_requests,
)
from postroom.store.tables.notifications_log import notifications_log

_MOMENTS = frozenset(
    {
        "created_at",
        "updated_at",
        "terminal_at",
        "started_at",
        "completed_at",
        "received_at",
        "not_before",
        "discarded_at",
    }
)
_INTERNAL = frozenset({"fingerprint", "order_key", "fence", "sending", "lease_until", "delivery_request_id"})


def request_ids(connection: Connection, identifier: str) -> list[str]:
    """A request id, or the request behind a delivery id."""
    table = delivery_requests.c
    found = select(table.request_id).where(or_(table.request_id == identifier, table.id == identifier)).distinct()
    ids = list(connection.execute(found).scalars())
    return ids or [identifier]


def trace(connection: Connection, request_id: str) -> dict[str, Any]:
    deliveries = [_delivery(connection, row) for row in _rows(connection, _by_request(delivery_requests, request_id))]
    return {
        "request_id": request_id,
        "hops": [readable(row) for row in _rows(connection, _by_request(notifications_log, request_id))],
        "deliveries": deliveries,
        "delivery_count": len(deliveries),
        "refusals": [readable(row) for row in _rows(connection, _by_request(delivery_refusals, request_id))],
    }


def _delivery(connection: Connection, row: RowMapping) -> dict[str, Any]:
    shown = readable(row)
    shown["request_envelope"] = json.loads(row["request_envelope"])
    for name, table, order in (
        ("attempts", delivery_attempts, delivery_attempts.c.attempt_number),
        ("receipts", delivery_receipts, delivery_receipts.c.part),
        ("dead_letter", delivery_dead_letter, delivery_dead_letter.c.created_at),
    ):
        found = select(table).where(table.c.delivery_request_id == row["id"]).order_by(order)
        shown[name] = [readable(one) for one in _rows(connection, found)]
    shown["dead_letter"] = shown["dead_letter"][0] if shown["dead_letter"] else None
    return shown


def _by_request(table: Any, request_id: str) -> Select[Any]:
    return select(table).where(table.c.request_id == request_id).order_by(table.c.created_at, table.c.id)


def _rows(connection: Connection, statement: Select[Any]) -> list[RowMapping]:
    return list(connection.execute(statement).mappings())


def readable(row: RowMapping) -> dict[str, Any]:
    """Moments as text, and nothing that only the machinery needs."""
    return {
        name: to_text(value) if name in _MOMENTS and value is not None else value
        for name, value in row.items()
        if name not in _INTERNAL
    }
