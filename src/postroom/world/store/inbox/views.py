"""An inbox shelf by shelf, with what was dismissed: for the person who may still want it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, func, not_, or_, select

from postroom.domain.inbox_view import MOST_SHELVED, Shelf
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
        asked = _page(user_id, shelf, after=after, limit=limit, now_us=now_us)
        return await self._database.read(
            lambda connection: [notification_of(row) for row in connection.execute(asked).mappings()]
        )

    async def counts(self, user_id: str, now_us: int) -> Mapping[Shelf, int]:
        """A shelf with more than MOST_SHELVED is counted no further."""
        asked = select(*(_up_to_most(user_id, shelf, now_us) for shelf in Shelf))
        row = await self._database.read(lambda connection: connection.execute(asked).one())
        return dict(zip(Shelf, row, strict=True))

    async def find(self, user_id: str, notification_id: str) -> Notification | None:
        asked = select(notifications).where(_TABLE.user_id == user_id, _TABLE.id == notification_id)
        row = await self._database.read(lambda connection: connection.execute(asked).mappings().first())
        return notification_of(row) if row else None

    async def people(self) -> Sequence[str]:
        """Whoever was ever told anything."""
        return await self._database.read(lambda connection: list(connection.execute(_people()).scalars()))


def _page(user_id: str, shelf: Shelf, *, after: Cursor | None, limit: int, now_us: int) -> Select[Any]:
    asked = select(notifications).where(_TABLE.user_id == user_id, _on(shelf, now_us))
    asked = asked if after is None else asked.where(older_than(after))
    return asked.order_by(_TABLE.created_at.desc(), _TABLE.id.desc()).limit(limit)


def _people() -> Select[str]:
    """From each to the next along the index: all that was said to one of them is passed over."""
    first = select(func.min(_TABLE.user_id).label("user_id")).cte("people", recursive=True)
    following = select(func.min(_TABLE.user_id)).where(_TABLE.user_id > first.c.user_id).scalar_subquery()
    people = first.union_all(select(following).where(first.c.user_id.is_not(None)))
    return select(people.c.user_id).where(people.c.user_id.is_not(None)).limit(_MOST_PEOPLE)


def _up_to_most(user_id: str, shelf: Shelf, now_us: int) -> ColumnElement[int]:
    mine = select(_TABLE.id).where(_TABLE.user_id == user_id, _on(shelf, now_us)).limit(MOST_SHELVED + 1)
    return select(func.count()).select_from(mine.subquery()).scalar_subquery()


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
            return and_(kept, not_(archived), _TABLE.snoozed_until > now_us)  # along the index of these
        case Shelf.ARCHIVED:
            return and_(kept, archived)
        case Shelf.DISMISSED:
            return not_(kept)
