"""Everything the ledger knows about one request, in the order it happened."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, or_, select

from postroom.world.store.deliveries.correction_rows import corrections_around
from postroom.world.store.deliveries.hops import hops
from postroom.world.store.deliveries.readable_rows import readable
from postroom.world.store.tables.deliveries import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_refusals,
    delivery_replies,
    delivery_requests,
)


def request_ids(connection: Connection, identifier: str) -> list[str]:
    """A request id, or the request behind a delivery id."""
    table = delivery_requests.c
    found = select(table.request_id).where(or_(table.request_id == identifier, table.id == identifier)).distinct()
    ids = list(connection.execute(found).scalars())
    return ids or [identifier]


def trace(connection: Connection, request_id: str) -> dict[str, Any]:
    """Oldest first. Replays belong to the request of the delivery they repeat."""
    rows = _rows(connection, _by_request(delivery_requests, request_id))
    attempts = _kept(connection, delivery_attempts, delivery_attempts.c.attempt_number, request_id)
    receipts = _kept(connection, delivery_receipts, delivery_receipts.c.part, request_id)
    news = _kept(connection, delivery_news, delivery_news.c.at, request_id)
    replies = _kept(connection, delivery_replies, delivery_replies.c.at, request_id)
    letters = _kept(connection, delivery_dead_letter, delivery_dead_letter.c.created_at, request_id)
    deliveries = [
        _as_traced(row, attempts[row["id"]], receipts[row["id"]], news[row["id"]], next(iter(letters[row["id"]]), None))
        | _corrected(connection, row["id"])
        | {"replies": replies[row["id"]]}
        for row in rows
    ]
    refusals = _rows(connection, _by_request(delivery_refusals, request_id))
    return {
        "request_id": request_id,
        "hops": hops(connection, request_id, rows, refusals),
        "deliveries": deliveries,
        "delivery_count": len(deliveries),
        "refusals": [readable(row) for row in refusals if row["limit_type"]],
    }


def _as_traced(row: Mapping[Any, Any], attempts: Any, receipts: Any, news: Any, letter: Any) -> dict[str, Any]:
    return readable(row) | {
        "delivery_id": row["id"],
        "request_envelope": json.loads(row["request_envelope"]),
        "attempts": attempts,
        "receipts": receipts,
        "news": news,
        "dead_letter": letter,
    }


def _corrected(connection: Connection, delivery_id: str) -> dict[str, Any]:
    """Nothing for nearly all."""
    return {name: value for name, value in corrections_around(connection, delivery_id).items() if value}


def _kept(connection: Connection, table: Any, order: Any, request_id: str) -> dict[str, list[dict[str, Any]]]:
    """What one table holds about each delivery of the request."""
    belongs = table.c.delivery_request_id == delivery_requests.c.id
    found = select(table).join(delivery_requests, belongs).where(delivery_requests.c.request_id == request_id)
    kept: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(connection, found.order_by(order)):
        kept[row["delivery_request_id"]].append(readable(row))
    return kept


def _by_request(table: Any, request_id: str) -> Select[Any]:
    return select(table).where(table.c.request_id == request_id).order_by(table.c.created_at, table.c.id)


def _rows(connection: Connection, statement: Select[Any]) -> list[RowMapping]:
    return list(connection.execute(statement).mappings())
