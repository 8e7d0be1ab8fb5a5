"""One delivery with everything that was written down about it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, func, select, text

from postroom.domain.time import to_text
from postroom.world.store.deliveries.correction_rows import corrections_around
from postroom.world.store.deliveries.trace import trace
from postroom.world.store.tables.approvals import approval_events, pending_actions
from postroom.world.store.tables.deliveries import delivery_requests

_requests = delivery_requests.c
_OPEN = text("status IN ('pending', 'in_progress')")


def delivery_file(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    row = _row(connection, delivery_id)
    if row is None:
        return None
    record = trace(connection, row["request_id"])
    mine = next(one for one in record["deliveries"] if one["delivery_id"] == delivery_id)
    return {
        "delivery": mine | {"attempts": row["attempts"]},
        "attempts": mine["attempts"],
        "siblings": [one for one in record["deliveries"] if one["delivery_id"] != delivery_id],
        "hops": record["hops"],
        "refusals": record["refusals"],
        "approval": _approval(connection, delivery_id),
        "approval_events": _approval_events(connection, delivery_id),
        "ahead": _ahead(connection, delivery_id, row["order_key"]),
        **corrections_around(connection, delivery_id),
    }


def _row(connection: Connection, delivery_id: str) -> RowMapping | None:
    wanted = select(_requests.request_id, _requests.attempts, _requests.order_key).where(_requests.id == delivery_id)
    return connection.execute(wanted).mappings().first()


def _approval(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    row = connection.execute(select(pending_actions).where(pending_actions.c.id == delivery_id)).first()
    if row is None:
        return None
    return {
        "status": row.status,
        "expires_at": to_text(row.expires_at),
        "decided_by": row.decided_by,
        "decided_at": to_text(row.decided_at) if row.decided_at is not None else None,
        "reason": row.decision_reason,
        "risk": row.risk,
    }


def _approval_events(connection: Connection, delivery_id: str) -> list[dict[str, Any]]:
    events = approval_events.c
    found = select(events.event_type, events.actor, events.reason, events.occurred_at)
    rows = connection.execute(found.where(events.action_id == delivery_id).order_by(events.occurred_at, events.id))
    return [
        {"type": row.event_type, "actor": row.actor, "reason": row.reason, "at": to_text(row.occurred_at)}
        for row in rows
    ]


def _ahead(connection: Connection, delivery_id: str, order_key: str) -> int:
    earlier = select(func.count()).select_from(delivery_requests)
    earlier = earlier.where(_requests.order_key == order_key, _requests.id < delivery_id, _OPEN)
    return int(connection.execute(earlier).scalar_one())
