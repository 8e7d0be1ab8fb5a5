"""An inbox shelf by shelf, with what was dismissed: for the person who may still want it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import ColumnElement, and_, case, func, not_, or_, select

from postroom.domain.inbox_view import Shelf
from postroom.domain.notification import Cursor, Notification
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.inbox import older_than
from postroom.world.store.inbox.rows import notification_of
from postroom.world.store.tables.inbox import notifications

_TABLE: Final = notifications.c
_MOST_PEOPLE: Final = 200


class StoredShelves:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, user_id: str, shelf: Shelf, *, after: Cursor | None, limit: int, now_us: int
    ) -> Sequence[Notification]:
        """Newest first."""
        asked = select(notifications).where(_TABLE.user_id == user_id, _on(shelf, now_us))
        if after is not None:
            asked = asked.where(older_than(after))
        asked = asked.order_by(_TABLE.created_at.desc(), _TABLE.id.desc()).limit(limit)
        return await self._database.read(
            lambda connection: [notification_of(row) for row in connection.execute(asked).mappings()]
        )

    async def counts(self, user_id: str, now_us: int) -> Mapping[Shelf, int]:
        sums = [func.coalesce(func.sum(case((_on(shelf, now_us), 1), else_=0)), 0) for shelf in Shelf]
        asked = select(*sums).where(_TABLE.user_id == user_id)
        row = await self._database.read(lambda connection: connection.execute(asked).one())
        return {shelf: int(many) for shelf, many in zip(Shelf, row, strict=True)}

    async def find(self, user_id: str, notification_id: str) -> Notification | None:
        asked = select(notifications).where(_TABLE.user_id == user_id, _TABLE.id == notification_id)
        row = await self._database.read(lambda connection: connection.execute(asked).mappings().first())
        return notification_of(row) if row else None

    async def people(self) -> Sequence[str]:
        """Whoever was ever told anything."""
        asked = select(_TABLE.user_id).distinct().order_by(_TABLE.user_id).limit(_MOST_PEOPLE)
        return await self._database.read(lambda connection: list(connection.execute(asked).scalars()))


def _on(shelf: Shelf, now_us: int) -> ColumnElement[bool]:
    """A notification without a bell came by e-mail alone: it is nobody's unread."""
    kept, archived = _TABLE.dismissed_at.is_(None), _TABLE.archived_at.is_not(None)
    asleep = func.coalesce(_TABLE.snoozed_until, 0) > now_us
    unread = and_(_TABLE.read_at.is_(None), _TABLE.has_bell)
    in_view = and_(kept, not_(archived), not_(asleep))
    match shelf:
        case Shelf.UNREAD:
            return and_(in_view, unread)
        case Shelf.READ:
            return and_(in_view, or_(_TABLE.read_at.is_not(None), not_(_TABLE.has_bell)))
        case Shelf.SNOOZED:
            return and_(kept, not_(archived), asleep)
        case Shelf.ARCHIVED:
            return and_(kept, archived)
        case Shelf.DISMISSED:
            return not_(kept)
