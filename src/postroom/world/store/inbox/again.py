"""E-mail copies that wait, looked at once more before their hour."""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, update

from postroom.world.store.tables.inbox import deferred_emails

_TABLE: Final = deferred_emails.c
OPEN: Final = and_(_TABLE.delivered_at.is_(None), _TABLE.failed_at.is_(None), _TABLE.cancelled_at.is_(None))
WAITING: Final = and_(OPEN, _TABLE.batch_id.is_(None))


def judge_again(connection: Connection, whose: ColumnElement[bool], now_us: int) -> None:
    """What waits for an hour is due now: whoever releases it looks at the person's wishes of this moment."""
    waiting = and_(WAITING, _TABLE.deliver_after > now_us, whose)
    connection.execute(update(deferred_emails).where(waiting).values(deliver_after=now_us))
