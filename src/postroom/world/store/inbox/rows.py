"""Between rows of the inbox and the values the work knows."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, select

from postroom.domain.attention import AttentionWish
from postroom.domain.inbox_owner import person_of_inbox
from postroom.domain.notification import Notification, Preferences
from postroom.domain.principal import OPERATOR, OWNER
from postroom.world.store.attention.rows import person_of
from postroom.world.store.engine.rows import read, values
from postroom.world.store.tables.attention import attention_people
from postroom.world.store.tables.inbox import notification_preferences
from postroom.world.store.tables.people import people, person_addresses

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


def notification_values(one: Notification) -> dict[str, Any]:
    return values(one, without=("wish",), **_wish_values(one.wish or _NO_WISH))


def notification_of(row: RowMapping) -> Notification:
    return read(Notification, row, wish=_wish_of(row))


def _wish_values(wish: AttentionWish) -> dict[str, Any]:
    return values(wish)


def _wish_of(row: RowMapping) -> AttentionWish | None:
    wish = read(AttentionWish, row)
    return wish if wish != _NO_WISH else None


def preference_values(preferences: Preferences) -> dict[str, Any]:
    return values(
        preferences,
        without=("attention", "all_windows", "zone"),
        quiet_hours_start=_text(preferences.quiet_hours_start),
        quiet_hours_end=_text(preferences.quiet_hours_end),
    )


def read_preferences(connection: Connection, user_id: str) -> Preferences | None:
    row = connection.execute(_PREFERENCES, {"user_id": user_id}).mappings().first()
    if row is None:
        return None
    return read(
        Preferences,
        row,
        quiet_hours_start=_time(row["quiet_hours_start"]),
        quiet_hours_end=_time(row["quiet_hours_end"]),
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


def _text(moment: time | None) -> str | None:
    return None if moment is None else moment.isoformat("seconds")


def _time(text: str | None) -> time | None:
    return None if text is None else time.fromisoformat(text)
