"""Notifications: kept under the hourly cap, and read by nobody but their owner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, Update, and_, func, insert, or_, select, union, update

from postroom.domain.email_copy import Defer, Drop, Judge, Send, Verdict
from postroom.domain.notification import Cursor, Notification, NotificationQuery, View
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.again import WAITING, judge_again
from postroom.world.store.inbox.hourly_cap_database import is_within_cap
from postroom.world.store.inbox.rows import notification_of, notification_values, wishes_of
from postroom.world.store.tables.inbox import deferred_emails, notifications

_TABLE: Final = notifications.c
_INSERT: Final = insert(notifications)
_INSERT_EMAIL: Final = insert(deferred_emails)


class StoredNotes:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def create(self, new: Notification, *, hourly_cap: int, judge: Judge) -> tuple[Notification, Verdict] | None:
        email_id = self._mint(new.created_at_us)
        return await self._database.write(lambda connection: _create(connection, new, hourly_cap, judge, email_id))

    async def page(self, user_id: str, page: NotificationQuery, now_us: int) -> Sequence[Notification]:
        return await self._database.read(lambda connection: _all(connection, _page(user_id, page, now_us)))

    async def since(self, user_id: str, moment_us: int, limit: int) -> Sequence[Notification]:
        found = (
            select(notifications)
            .where(_TABLE.user_id == user_id, _TABLE.created_at >= moment_us, _TABLE.has_bell)
            .where(_TABLE.dismissed_at.is_(None))
            .order_by(_TABLE.created_at, _TABLE.id)
            .limit(limit)
        )
        return await self._database.read(lambda connection: _all(connection, found))

    async def unread(self, user_id: str, now_us: int) -> int:
        return await self._database.read(lambda connection: unread(connection, user_id, now_us))

    async def change(
        self, user_id: str, notification_id: str, edit: Callable[[Notification], Notification | None]
    ) -> Notification | None:
        return await self._database.write(lambda connection: _change(connection, user_id, notification_id, edit))

    async def read_all(self, user_id: str, now_us: int) -> int:
        values = {"read_at": now_us, "seen_at": func.coalesce(_TABLE.seen_at, now_us), "updated_at": now_us}
        changed = update(notifications).where(_TABLE.user_id == user_id, _TABLE.read_at.is_(None)).values(values)
        return await self._count(changed.where(*_in_view(View.ACTIVE, now_us)))

    async def see_all(self, user_id: str, now_us: int) -> int:
        changed = update(notifications).where(_TABLE.user_id == user_id, _TABLE.seen_at.is_(None))
        changed = changed.values(seen_at=now_us, updated_at=now_us)
        return await self._count(changed.where(*_in_view(View.ACTIVE, now_us)))

    async def pulses(self, user_ids: Collection[str], since_us: int, now_us: int) -> Mapping[str, tuple[int, int]]:
        """A snooze that ends changes no row, so its end is looked at as well."""
        theirs = select(_TABLE.id, _TABLE.user_id, _TABLE.updated_at).where(_TABLE.user_id.in_(user_ids))
        changed = theirs.where(_TABLE.updated_at >= since_us)
        woken = theirs.where(_TABLE.snoozed_until >= since_us, _TABLE.snoozed_until <= now_us)
        new = union(changed, woken).subquery("new")  # each along its index, which one condition with "or" has not
        found = select(new.c.user_id, func.max(new.c.updated_at), func.count()).group_by(new.c.user_id)
        rows = await self._database.read(lambda connection: connection.execute(found).all())
        return {user_id: (latest, count) for user_id, latest, count in rows}

    async def _count(self, statement: Update) -> int:
        return await self._database.write(lambda connection: int(connection.execute(statement).rowcount))


def unread(connection: Connection, user_id: str, now_us: int) -> int:
    count = select(func.count()).where(_TABLE.user_id == user_id, _TABLE.read_at.is_(None), _TABLE.has_bell)
    return int(connection.execute(count.where(*_in_view(View.ACTIVE, now_us))).scalar_one())


def _create(
    connection: Connection, new: Notification, hourly_cap: int, judge: Judge, email_id: str
) -> tuple[Notification, Verdict] | None:
    if not is_within_cap(connection, new.user_id, hourly_cap, new.created_at_us):
        return None
    preferences = wishes_of(connection, new.user_id)
    new = replace(new, has_bell=preferences.delivery_channel.has_bell)
    verdict = judge(new, preferences)
    _take_the_place_of_others(connection, new)
    connection.execute(_INSERT, notification_values(new))
    if not isinstance(verdict, Drop):
        connection.execute(_INSERT_EMAIL, _email_values(new, verdict, email_id))
    return new, verdict


def _take_the_place_of_others(connection: Connection, new: Notification) -> None:
    """A copy that still waits is not sent once its agent left a newer note under the same key."""
    key = new.wish.supersedes if new.wish is not None else None
    if key is None:
        return
    same = and_(_TABLE.user_id == new.user_id, _TABLE.agent == new.agent, _TABLE.supersedes == key)
    older = and_(WAITING, deferred_emails.c.notification_id.in_(select(_TABLE.id).where(same)))
    values = {"cancelled_at": new.created_at_us, "error_message": "a newer note took its place"}
    connection.execute(update(deferred_emails).where(older).values(values))


def _email_values(new: Notification, verdict: Send | Defer, email_id: str) -> dict[str, Any]:
    waits = isinstance(verdict, Defer)
    return {
        "id": email_id,
        "notification_id": new.id,
        "user_id": new.user_id,
        "deliver_after": verdict.until_us if isinstance(verdict, Defer) else new.created_at_us,
        "quiet": waits,
        "fence": 0,
        "attempts": 0,
        "created_at": new.created_at_us,
    }


def _change(
    connection: Connection,
    user_id: str,
    notification_id: str,
    edit: Callable[[Notification], Notification | None],
) -> Notification | None:
    owned = and_(_TABLE.id == notification_id, _TABLE.user_id == user_id)
    row = connection.execute(select(notifications).where(owned).with_for_update()).mappings().first()
    if row is None:
        return None
    before = notification_of(row)
    after = edit(before)
    if after is not None and after != before:
        connection.execute(update(notifications).where(owned).values(notification_values(after)))
        if after.snoozed_until_us != before.snoozed_until_us:
            judge_again(connection, deferred_emails.c.notification_id == notification_id, after.updated_at_us)
    return after


def _page(user_id: str, page: NotificationQuery, now_us: int) -> Select[Any]:
    found = select(notifications).where(_TABLE.user_id == user_id, *_in_view(page.view, now_us))
    if page.type is not None:
        found = found.where(_TABLE.type == str(page.type))
    if page.is_read is not None:
        found = found.where(_TABLE.read_at.is_not(None) if page.is_read else _TABLE.read_at.is_(None))
    if page.conversation_id is not None:
        found = found.where(_TABLE.conversation_id == page.conversation_id)
    if page.after is not None:
        found = found.where(older_than(page.after))
    return found.order_by(_TABLE.created_at.desc(), _TABLE.id.desc()).limit(page.limit)


def older_than(cursor: Cursor) -> ColumnElement[bool]:
    older = _TABLE.created_at < cursor.created_at_us
    same = and_(_TABLE.created_at == cursor.created_at_us, _TABLE.id < cursor.id)
    return and_(_TABLE.created_at <= cursor.created_at_us, or_(older, same))


def _in_view(view: View, now_us: int) -> list[ColumnElement[bool]]:
    shown: list[ColumnElement[bool]] = [_TABLE.dismissed_at.is_(None)]
    match view:
        case View.ACTIVE:
            awake = or_(_TABLE.snoozed_until.is_(None), _TABLE.snoozed_until <= now_us)
            return [*shown, _TABLE.archived_at.is_(None), awake]
        case View.SNOOZED:
            return [*shown, _TABLE.archived_at.is_(None), _TABLE.snoozed_until > now_us]
        case View.ARCHIVED:
            return [*shown, _TABLE.archived_at.is_not(None)]
        case View.ALL:
            return shown


def _all(connection: Connection, statement: Select[Any]) -> list[Notification]:
    return [notification_of(row) for row in connection.execute(statement).mappings()]
