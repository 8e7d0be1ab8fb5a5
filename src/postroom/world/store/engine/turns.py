"""Writers that take turns, so that what is counted up is committed in its order."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

PATIENCE_SECONDS: Final = 10.0  # a process that was stopped in between would keep everybody else from writing


_LOCK: Final = 0x6F72646572  # keeps this lock apart from any others


_IN_TURN: Final = text(
    "SELECT set_config('idle_in_transaction_session_timeout', :patience, true), pg_advisory_xact_lock(:lock)"
)


def wait_for_turn(connection: Connection, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """
    Positions written from here on are nobody else's, because the next writer waits until this one has committed.

    So a position that can be seen is never followed by a lower one. Ask as late as
    possible: what comes between here and the commit is done by one at a time.
    SQLite lets one transaction write at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_IN_TURN, {"patience": f"{patience_seconds * 1000:.0f}ms", "lock": _LOCK})
