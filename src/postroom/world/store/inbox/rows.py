"""Between rows of the inbox and the values the work knows."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, select

from postroom.domain.attention import AttentionWish
from postroom.domain.delivery import Priority
from postroom.domain.inbox_owner import person_of_inbox
from postroom.domain.notification import DeliveryChannel, Notification, NotificationId, NotificationType, Preferences
from postroom.domain.principal import OPERATOR, OWNER
from postroom.domain.question import Urgency
from postroom.world.store.attention.rows import person_of
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
    return {
        "id": one.id,
        "user_id": one.user_id,
        "conversation_id": one.conversation_id,
        "correlation_id": one.correlation_id,
        "message": one.message,
        "type": str(one.type),
        "priority": str(one.priority),
        "link": one.link,
        "has_bell": one.has_bell,
        "seen_at": one.seen_at_us,
        "read_at": one.read_at_us,
        "archived_at": one.archived_at_us,
        "dismissed_at": one.dismissed_at_us,
        "snoozed_until": one.snoozed_until_us,
        "created_at": one.created_at_us,
        "updated_at": one.updated_at_us,
        "agent": one.agent,
        **_wish_values(one.wish or _NO_WISH),
    }


def notification_of(row: RowMapping) -> Notification:
    return Notification(
        id=NotificationId(row["id"]),
        user_id=row["user_id"],
        conversation_id=row["conversation_id"],
        correlation_id=row["correlation_id"],
        message=row["message"],
        type=NotificationType(row["type"]),
        priority=Priority(row["priority"]),
        link=row["link"],
        has_bell=row["has_bell"],
        seen_at_us=row["seen_at"],
        read_at_us=row["read_at"],
        archived_at_us=row["archived_at"],
        dismissed_at_us=row["dismissed_at"],
        snoozed_until_us=row["snoozed_until"],
        created_at_us=row["created_at"],
        updated_at_us=row["updated_at"],
        agent=row["agent"],
        wish=_wish_of(row),
    )


def _wish_values(wish: AttentionWish) -> dict[str, Any]:
    return {
        "urgency": wish.urgency and str(wish.urgency),
        "category": wish.category,
        "thread": wish.thread,
        "supersedes": wish.supersedes,
        "needs_ack": wish.needs_ack,
        "expires_in_seconds": wish.expires_in_seconds,
    }


def _wish_of(row: RowMapping) -> AttentionWish | None:
    wish = AttentionWish(
        urgency=Urgency(row["urgency"]) if row["urgency"] is not None else None,
        category=row["category"],
        thread=row["thread"],
        supersedes=row["supersedes"],
        needs_ack=row["needs_ack"],
        expires_in_seconds=row["expires_in_seconds"],
    )
    return wish if wish != _NO_WISH else None


def preference_values(preferences: Preferences) -> dict[str, Any]:
    return {
        "delivery_channel": str(preferences.delivery_channel),
        "email": preferences.email,
        "email_pending": preferences.email_pending,
        "quiet_hours_start": _text(preferences.quiet_hours_start),
        "quiet_hours_end": _text(preferences.quiet_hours_end),
        "quiet_hours_timezone": preferences.quiet_hours_timezone,
        "high_priority_passes": preferences.high_priority_passes,
    }


def read_preferences(connection: Connection, user_id: str) -> Preferences | None:
    row = connection.execute(_PREFERENCES, {"user_id": user_id}).mappings().first()
    if row is None:
        return None
    return Preferences(
        delivery_channel=DeliveryChannel(row["delivery_channel"]),
        email=row["email"],
        email_pending=row["email_pending"],
        quiet_hours_start=_time(row["quiet_hours_start"]),
        quiet_hours_end=_time(row["quiet_hours_end"]),
        quiet_hours_timezone=row["quiet_hours_timezone"],
        high_priority_passes=row["high_priority_passes"],
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
