"""The hourly cap, counted from the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    func,
    insert,
    not_,
    or_,
    select,
    union,
    update,
)

from postroom.attention.model import UNSENT
from postroom.attention.state import Loaded, NoticeChanges, Standing, Wanted
from postroom.attention.store import attention_people, load, lock_person, notices, person_of, readdress, write
from postroom.inbox.model import (
    MOST_SHELVED,
    SHELVES,
    Cursor,
    Notification,
    NotificationQuery,
    Preferences,
    Shelf,
)
from postroom.inbox.store.waiting import (
    lock_inbox,
    notification_preferences,
    notifications,
)
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import Columns, read, values
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import OPERATOR, OWNER
from postroom.message.wishes import AttentionWish
from postroom.people.model import person_of_inbox
from postroom.people.store.tables import people, person_addresses

HOUR_US: Final = seconds(3600)

_LAST_HOUR: Final = select(func.count()).where(
    notifications.c.user_id == bindparam("user_id"), notifications.c.created_at > bindparam("since")
)


def is_within_cap(connection: Connection, user_id: str, hourly_cap: int, now_us: int) -> bool:
    """Whether one more fits, in the transaction that then writes it; nobody else counts until that has ended."""
    lock_inbox(connection, user_id)
    kept = connection.execute(_LAST_HOUR, {"user_id": user_id, "since": now_us - HOUR_US}).scalar_one()
    return int(kept) < hourly_cap


# Notifications: kept under the hourly cap, and read by nobody but their owner.


_TABLE: Final = notifications.c
_INSERT: Final = insert(notifications)
_NOTHING_MORE: Final = Wanted()
Copy = Callable[[Notification, Preferences, Loaded], tuple[Standing | None, NoticeChanges | None]]
Follow = Callable[[Sequence[Notification], Preferences, Loaded], NoticeChanges | None]


class StoredNotes:
    """Every question names the person it is asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, new: Notification, *, hourly_cap: int, copy: Copy | None = None, wanted: Wanted = _NOTHING_MORE
    ) -> tuple[Notification, Standing | None] | None:
        """Counts, decides about the e-mail and writes in one transaction; None when the cap is reached."""
        return await self._database.write(lambda connection: _create(connection, new, hourly_cap, copy, wanted))

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
        self,
        user_id: str,
        notification_id: str,
        edit: Callable[[Notification], Notification | None],
        follow: Follow | None = None,
    ) -> Notification | None:
        return await self._database.write(
            lambda connection: _change(connection, user_id, notification_id, edit, follow)
        )

    async def read_all(self, user_id: str, now_us: int, follow: Follow | None = None) -> int:
        values = {"read_at": now_us, "seen_at": func.coalesce(_TABLE.seen_at, now_us), "updated_at": now_us}
        changed = update(notifications).where(_TABLE.user_id == user_id, _TABLE.read_at.is_(None)).values(values)

        def work(connection: Connection) -> int:
            lock_person(connection, person_of_inbox(user_id))
            many = int(connection.execute(changed.where(_on(Shelf.ACTIVE, now_us))).rowcount)
            follow_notes(connection, user_id, follow)
            return many

        return await self._database.write(work)

    async def follow_all(self, follow: Follow) -> None:
        """Of everybody who has a copy that waits."""
        unsent = select(notices.c.id).where(notices.c.state.in_(sorted(UNSENT)))
        whose = select(_TABLE.user_id).where(_TABLE.id.in_(unsent)).distinct()
        for user_id in await self._database.read(lambda connection: connection.execute(whose).scalars().all()):
            await self._database.write(partial(_follow_alone, user_id=user_id, follow=follow))

    async def see_all(self, user_id: str, now_us: int) -> int:
        changed = update(notifications).where(_TABLE.user_id == user_id, _TABLE.seen_at.is_(None))
        changed = changed.values(seen_at=now_us, updated_at=now_us).where(_on(Shelf.ACTIVE, now_us))
        return await self._database.write(lambda connection: int(connection.execute(changed).rowcount))

    async def pulses(self, user_ids: Collection[str], since_us: int, now_us: int) -> Mapping[str, tuple[int, int]]:
        """A snooze that ends changes no row, so its end is looked at as well."""
        theirs = select(_TABLE.id, _TABLE.user_id, _TABLE.updated_at).where(_TABLE.user_id.in_(user_ids))
        changed = theirs.where(_TABLE.updated_at >= since_us)
        woken = theirs.where(_TABLE.snoozed_until >= since_us, _TABLE.snoozed_until <= now_us)
        new = union(changed, woken).subquery("new")  # each along its index, which one condition with "or" has not
        found = select(new.c.user_id, func.max(new.c.updated_at), func.count()).group_by(new.c.user_id)
        rows = await self._database.read(lambda connection: connection.execute(found).all())
        return {user_id: (latest, count) for user_id, latest, count in rows}

    async def counts(self, user_id: str, now_us: int) -> Mapping[Shelf, int]:
        """A shelf with more than MOST_SHELVED is counted no further."""
        asked = select(*(_up_to_most(user_id, shelf, now_us) for shelf in SHELVES))
        row = await self._database.read(lambda connection: connection.execute(asked).one())
        return dict(zip(SHELVES, row, strict=True))

    async def find(self, user_id: str, notification_id: str) -> Notification | None:
        asked = select(notifications).where(_TABLE.user_id == user_id, _TABLE.id == notification_id)
        row = await self._database.read(lambda connection: connection.execute(asked).mappings().first())
        return notification_of(row) if row else None

    async def people(self) -> Sequence[str]:
        """Whoever was ever told anything."""
        return await self._database.read(lambda connection: list(connection.execute(_people()).scalars()))


def unread(connection: Connection, user_id: str, now_us: int) -> int:
    count = select(func.count()).where(_TABLE.user_id == user_id, _TABLE.read_at.is_(None), _TABLE.has_bell)
    return int(connection.execute(count.where(_on(Shelf.ACTIVE, now_us))).scalar_one())


def _create(
    connection: Connection, new: Notification, hourly_cap: int, copy: Copy | None, wanted: Wanted
) -> tuple[Notification, Standing | None] | None:
    """Whoever takes both locks takes the person's first."""
    person = person_of_inbox(new.user_id)
    lock_person(connection, person)
    if not is_within_cap(connection, new.user_id, hourly_cap, new.created_at_us):
        return None
    wishes = wishes_of(connection, new.user_id)
    new = replace(new, has_bell=wishes.delivery_channel.has_bell)
    connection.execute(_INSERT, notification_values(new))
    if copy is None or not wishes.delivery_channel.has_email:
        return new, None
    loaded = load(connection, person, wanted)
    standing, changes = copy(new, wishes, loaded)
    if changes is not None:
        write(connection, loaded, changes)
    return new, standing


def _follow_alone(connection: Connection, user_id: str, follow: Follow) -> None:
    lock_person(connection, person_of_inbox(user_id))
    follow_notes(connection, user_id, follow)


def follow_notes(connection: Connection, user_id: str, follow: Follow | None) -> None:
    """What has changed for the reader counts for copies that have not left, in the same transaction."""
    person, wishes = person_of_inbox(user_id), wishes_of(connection, user_id)
    unsent = select(notices.c.id).where(notices.c.person == person, notices.c.state.in_(sorted(UNSENT)))
    notes = _all(connection, select(notifications).where(_TABLE.user_id == user_id, _TABLE.id.in_(unsent)))
    if not notes or follow is None:
        return
    loaded = load(connection, person, _NOTHING_MORE)
    changes = follow(notes, wishes, loaded)
    if changes is not None:
        write(connection, loaded, changes)
    ids = {one.id for one in notes}
    for one in loaded.notices:
        if one.id in ids and wishes.email is not None and one.message.recipient != wishes.email:
            readdress(connection, one, wishes.email)


def _change(
    connection: Connection,
    user_id: str,
    notification_id: str,
    edit: Callable[[Notification], Notification | None],
    follow: Follow | None,
) -> Notification | None:
    lock_person(connection, person_of_inbox(user_id))
    owned = and_(_TABLE.id == notification_id, _TABLE.user_id == user_id)
    row = connection.execute(select(notifications).where(owned).with_for_update()).mappings().first()
    if row is None:
        return None
    before = notification_of(row)
    after = edit(before)
    if after is not None and after != before:
        connection.execute(update(notifications).where(owned).values(notification_values(after)))
        follow_notes(connection, user_id, follow)
    return after


def _page(user_id: str, page: NotificationQuery, now_us: int) -> Select[Any]:
    found = select(notifications).where(_TABLE.user_id == user_id, _on(page.shelf, now_us))
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


def _all(connection: Connection, statement: Select[Any]) -> list[Notification]:
    return [notification_of(row) for row in connection.execute(statement).mappings()]


# Between rows of the inbox and the values the work knows.


_OWNERS_MAILBOX = (
    select(person_addresses.c.address)
    .where(
        person_addresses.c.person_id == OWNER,
        person_addresses.c.channel == "email",
        person_addresses.c.verified_at.is_not(None),
    )
    .order_by(person_addresses.c.rank, person_addresses.c.id)
    .limit(1)
)
_PREFERENCES = select(notification_preferences).where(notification_preferences.c.user_id == bindparam("user_id"))
_ATTENTION = select(attention_people).where(attention_people.c.person == bindparam("person"))
_ZONE = select(people.c.zone).where(people.c.id == bindparam("person"))
_NO_WISH = AttentionWish()


def notification_values(one: Notification) -> Columns:
    return values(one, without=("wish",), **values(one.wish or _NO_WISH))


def notification_of(row: RowMapping) -> Notification:
    wish = read(AttentionWish, row)
    return read(Notification, row, wish=wish if wish != _NO_WISH else None)


def preference_values(preferences: Preferences) -> Columns:
    return values(
        preferences,
        without=("attention", "all_windows", "zone"),
    )


def read_preferences(connection: Connection, user_id: str) -> Preferences | None:
    row = connection.execute(_PREFERENCES, {"user_id": user_id}).mappings().first()
    if row is None:
        return None
    return read(
        Preferences,
        row,
        attention=None,
        all_windows=None,
        zone=None,
    )


def wishes_of(connection: Connection, user_id: str) -> Preferences:
    """For the owner, who named no address for copies, it is the one proved to be the owner's."""
    person = {"person": person_of_inbox(user_id)}
    row = connection.execute(_ATTENTION, person).first()
    wishes = replace(
        read_preferences(connection, user_id) or Preferences(),
        attention=person_of(row) if row is not None else None,
        zone=connection.execute(_ZONE, person).scalar(),
    )
    if user_id != OPERATOR.name or wishes.email is not None:
        return wishes
    return replace(wishes, email=connection.execute(_OWNERS_MAILBOX).scalar())


# An inbox shelf by shelf, with what was dismissed: for the person who may still want it back.

_MOST_PEOPLE: Final = 200


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
    awake = or_(_TABLE.snoozed_until.is_(None), _TABLE.snoozed_until <= now_us)
    active = and_(kept, not_(archived), awake)
    match shelf:
        case Shelf.UNREAD:
            return and_(active, _TABLE.read_at.is_(None), _TABLE.has_bell)
        case Shelf.READ:
            return and_(active, or_(_TABLE.read_at.is_not(None), not_(_TABLE.has_bell)))
        case Shelf.SNOOZED:
            return and_(kept, not_(archived), _TABLE.snoozed_until > now_us)  # along the index of these
        case Shelf.ARCHIVED:
            return and_(kept, archived)
        case Shelf.DISMISSED:
            return not_(kept)
        case Shelf.ACTIVE:
            return active
        case Shelf.ALL:
            return kept
