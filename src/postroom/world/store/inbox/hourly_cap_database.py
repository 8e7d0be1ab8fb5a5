"""The hourly cap, counted from the rows themselves."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from postroom.domain.time import seconds
from postroom.world.store.inbox.lock import lock_inbox
from postroom.world.store.tables.inbox import notifications

HOUR_US: Final = seconds(3600)

_LAST_HOUR: Final = select(func.count()).where(
    notifications.c.user_id == bindparam("user_id"), notifications.c.created_at > bindparam("since")
)


def is_within_cap(connection: Connection, user_id: str, hourly_cap: int, now_us: int) -> bool:
    """Whether one more fits, in the transaction that then writes it; nobody else counts until that has ended."""
    lock_inbox(connection, user_id)
    kept = connection.execute(_LAST_HOUR, {"user_id": user_id, "since": now_us - HOUR_US}).scalar_one()
    return int(kept) < hourly_cap


class NoQuickCap:
    """Without Redis there is no quicker way to know than to count."""

    async def take(self, user_id: str, notification_id: str, now_us: int) -> bool:
        return True

    async def give_back(self, user_id: str, notification_id: str) -> None:
        return None
