"""What stands around one delivery: its approval, its channel's circuit, and what must go first."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select, text

from postroom.domain.notification import Notification, Preferences
from postroom.domain.time import to_text
from postroom.world.store.deliveries.correction_rows import corrections_around
from postroom.world.store.inbox.rows import notification_of, wishes_of
from postroom.world.store.people.closed_addresses import closed_at
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.deliveries import circuit_states, delivery_requests
from postroom.world.store.tables.inbox import deferred_emails, notifications

_OPEN = text("status IN ('pending', 'in_progress')")  # spelled as in the partial index, or it would not be used
_ROWS = delivery_requests.c


def surroundings(connection: Connection, delivery_id: str, channel: str) -> dict[str, Any]:
    return {
        "approval": approval_of(connection, delivery_id),
        "circuit": _circuit(connection, channel),
        "ahead": _ahead(connection, delivery_id),
        **corrections_around(connection, delivery_id),
        "closed": _closed(connection, delivery_id),
    }


def note(
    connection: Connection, notification_id: str
) -> tuple[Notification, Preferences, dict[str, Any] | None] | None:
    """A note in somebody's inbox, what its reader wants now, and the row of its e-mail copy."""
    row = connection.execute(select(notifications).where(notifications.c.id == notification_id)).mappings().first()
    if row is None:
        return None
    asked = select(deferred_emails).where(deferred_emails.c.notification_id == notification_id)
    copy = connection.execute(asked).mappings().first()
    preferences = wishes_of(connection, row["user_id"])
    return notification_of(row), preferences, dict(copy) if copy is not None else None


def recent_ids(connection: Connection, limit: int) -> list[str]:
    """Of deliveries and of the requests behind them, newest first."""
    asked = select(_ROWS.id, _ROWS.request_id).order_by(_ROWS.id.desc()).limit(limit)
    return [name for row in connection.execute(asked) for name in row]


def approval_of(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    row = connection.execute(select(pending_actions).where(pending_actions.c.id == delivery_id)).mappings().first()
    if row is None:
        return None
    return {
        "status": row["status"],
        "expires_at": to_text(row["expires_at"]),
        "decided_by": row["decided_by"],
        "decided_at": to_text(row["decided_at"]) if row["decided_at"] is not None else None,
        "reason": row["decision_reason"],
    }


def _circuit(connection: Connection, channel: str) -> dict[str, Any] | None:
    row = connection.execute(select(circuit_states).where(circuit_states.c.channel == channel)).mappings().first()
    if row is None:
        return None
    return {"state": row["state"], "consecutive_failures": row["failures"], "trip_reason": row["reason"]}


def _closed(connection: Connection, delivery_id: str) -> str | None:
    """Why nothing more is sent to the address this one went to."""
    sent = connection.execute(select(_ROWS.channel, _ROWS.address).where(_ROWS.id == delivery_id)).first()
    found = closed_at(connection, sent.channel, sent.address) if sent else None
    return found.sentence if found and found.is_closed else None


def _ahead(connection: Connection, delivery_id: str) -> int:
    """Messages to one address leave in the order of their ids."""
    order_key = select(_ROWS.order_key).where(_ROWS.id == delivery_id).scalar_subquery()
    asked = select(func.count()).where(_ROWS.order_key == order_key, _ROWS.id < delivery_id, _OPEN)
    return int(connection.execute(asked).scalar_one())
