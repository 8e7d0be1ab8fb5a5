"""What people want, one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, insert, select, update

from postroom.domain.inbox_owner import person_of_inbox
from postroom.domain.notice_rows import Loaded, NoticeChanges, Wanted
from postroom.domain.notification import Preferences
from postroom.world.store.attention.steps import load, lock_person, write
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.again import judge_again
from postroom.world.store.inbox.email_confirmations import ask_to_confirm, awaits_confirmation
from postroom.world.store.inbox.lock import lock_inbox
from postroom.world.store.inbox.rows import preference_values, read_preferences, wishes_of
from postroom.world.store.tables.inbox import deferred_emails, notification_preferences

PolicyEdit = Callable[[Preferences, Loaded], tuple[Preferences, NoticeChanges | None]]


class StoredPreferences:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, user_id: str) -> Preferences:
        return await self._database.read(lambda connection: wishes_of(connection, user_id))

    async def change(self, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int) -> Preferences:
        return await self._database.write(lambda connection: _change(connection, user_id, edit, now_us))

    async def change_both(self, user_id: str, wanted: Wanted, edit: PolicyEdit, now_us: int) -> Preferences:
        """The preferences and what attention keeps of the same person, as one step."""
        return await self._database.write(lambda connection: _change_both(connection, user_id, wanted, edit, now_us))

    async def is_users_own(self, channel: str, address: str) -> bool:
        """Whether somebody has this address, confirmed, as the place for copies of their own notifications."""
        if channel != "email":
            return False
        found = select(notification_preferences.c.user_id).where(notification_preferences.c.email == address).limit(1)
        return await self._database.read(lambda connection: connection.execute(found).first() is not None)

    async def awaits_confirmation(self, channel: str, address: str) -> bool:
        """Whether this address is just being asked to confirm that it is somebody's own."""
        return await self._database.read(lambda connection: awaits_confirmation(connection, channel, address))


def _change_both(connection: Connection, user_id: str, wanted: Wanted, edit: PolicyEdit, now_us: int) -> Preferences:
    """Whoever takes both locks takes the person's first."""
    person = person_of_inbox(user_id)
    lock_person(connection, person)
    lock_inbox(connection, user_id)
    loaded = load(connection, person, wanted)
    after, changes = edit(wishes_of(connection, user_id), loaded)
    if changes is not None:
        write(connection, loaded, changes)
    return _change(connection, user_id, lambda _: after, now_us)


def _change(
    connection: Connection, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int
) -> Preferences:
    lock_inbox(connection, user_id)
    known, before = read_preferences(connection, user_id), wishes_of(connection, user_id)
    after = edit(before)
    values = preference_values(_as_said(known, before, after)) | {"updated_at": now_us}
    if known is None:
        connection.execute(insert(notification_preferences), values | {"user_id": user_id, "created_at": now_us})
    else:
        mine = notification_preferences.c.user_id == user_id
        connection.execute(update(notification_preferences).where(mine).values(values))
    if _quiet_hours(before) != _quiet_hours(after):
        judge_again(connection, deferred_emails.c.user_id == user_id, now_us)
    if after.email_pending is not None:
        ask_to_confirm(connection, user_id, after.email_pending, now_us)
    return wishes_of(connection, user_id)


def _as_said(known: Preferences | None, before: Preferences, after: Preferences) -> Preferences:
    """An address that is only the owner's own, and not one named for copies, goes on to follow the owner's."""
    is_lent = (known or Preferences()).email is None and before.email is not None
    return replace(after, email=None) if is_lent and after.email == before.email else after


def _quiet_hours(wishes: Preferences) -> tuple[object, ...]:
    return (
        wishes.quiet_hours_start,
        wishes.quiet_hours_end,
        wishes.quiet_hours_timezone,
        wishes.high_priority_passes,
    )
