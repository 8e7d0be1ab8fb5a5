"""One writer at a time for each person's inbox."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

_SEED: Final = 0x696E626F78  # keeps these locks apart from any others
_WAIT: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:user_id, :seed))")
_TRY: Final = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:user_id, :seed))")


def lock_inbox(connection: Connection, user_id: str) -> None:
    """Until the transaction ends. SQLite lets one transaction write at a time, so there is nothing to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(_WAIT, {"user_id": user_id, "seed": _SEED})


def try_lock_inbox(connection: Connection, user_id: str) -> bool:
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(_TRY, {"user_id": user_id, "seed": _SEED}).scalar())
