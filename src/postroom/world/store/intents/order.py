"""One order for the events of all intents: that in which they are committed."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, select, text

from postroom.world.store.tables.intents import intent_events

PATIENCE_SECONDS: Final = 10.0  # a process that was stopped in between would keep everybody else from writing
_LOCK: Final = 0x6F72646572  # keeps this lock apart from any others
_IN_TURN: Final = text(
    "SELECT set_config('idle_in_transaction_session_timeout', :patience, true), pg_advisory_xact_lock(:lock)"
)
_events = intent_events.alias()

LAST_POSITION: Final = select(func.max(_events.c.position)).scalar_subquery()
NEXT_POSITION: Final = select(func.coalesce(func.max(_events.c.position), 0) + 1).scalar_subquery()


def wait_for_turn(connection: Connection, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """
    Positions written from here on are nobody else's, because the next writer waits until this one has committed.

    So a position that can be seen is never followed by a lower one. Ask as late as
    possible: what comes between here and the commit is done by one at a time.
    SQLite lets one transaction write at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_IN_TURN, {"patience": f"{patience_seconds * 1000:.0f}ms", "lock": _LOCK})
