"""What goes over the wire: strict on the way in, free of internals on the way out."""

from __future__ import annotations

from datetime import time
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from postroom.domain.attention_wish import WISH_FIELDS, wish_object
from postroom.domain.delivery import Priority
from postroom.domain.notification import DeliveryChannel, Notification, NotificationType, Preferences
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import to_text
from postroom.doors.guard.json_body import Strict

WallTime = Annotated[str | None, Field(max_length=8, examples=["22:00"], description="HH:MM or HH:MM:SS, wall clock")]
Zone = Annotated[str, Field(max_length=64, examples=["Europe/Berlin"], description="IANA time zone")]
Address = Annotated[str | None, Field(max_length=254, examples=["ada@example.com"])]
Channel = Annotated[DeliveryChannel, Field(strict=False)]


class _Body(Strict):
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class PreferencesPut(_Body):
    """
    All at once. What is left out goes back to its default, except the address,
    which nobody should lose by leaving it out.
    """

    delivery_channel: Channel
    email: Address = None
    quiet_hours_start: WallTime = None
    quiet_hours_end: WallTime = None
    quiet_hours_timezone: Zone | None = None
    high_priority_passes: bool = False

    def whole(self) -> dict[str, Any]:
        kept = set() if "email" in self.model_fields_set else {"email"}
        return self.model_dump(exclude=kept)


class PreferencesPatch(_Body):
    """Only what is to change; null takes an address or quiet hours away."""

    delivery_channel: Channel = DeliveryChannel.IN_APP
    email: Address = None
    quiet_hours_start: WallTime = None
    quiet_hours_end: WallTime = None
    quiet_hours_timezone: Zone | None = None
    high_priority_passes: bool = False


class PreferencesOut(BaseModel):
    delivery_channel: DeliveryChannel
    email: str | None
    email_pending: Annotated[str | None, Field(description="Waits until the link in a mail to it is followed")]
    quiet_hours_start: str | None
    quiet_hours_end: str | None
    quiet_hours_timezone: str
    high_priority_passes: bool
    warnings: Annotated[
        list[str], Field(description="Wishes that are kept but cannot come true as things stand, or be shown whole")
    ]

    @classmethod
    def of(cls, preferences: Preferences, warnings: list[str]) -> Self:
        return cls(
            delivery_channel=preferences.delivery_channel,
            email=preferences.email,
            email_pending=preferences.email_pending,
            quiet_hours_start=_wall_time(preferences.quiet_hours_start),
            quiet_hours_end=_wall_time(preferences.quiet_hours_end),
            quiet_hours_timezone=preferences.quiet_hours_timezone,
            high_priority_passes=preferences.high_priority_passes,
            warnings=warnings,
        )


class SnoozeBody(_Body):
    """`until` as RFC 3339 with an offset; null brings the notification back."""

    until: Annotated[str | None, Field(max_length=64, examples=["2026-01-01T09:00:00+01:00"])]


class NotificationOut(BaseModel):
    id: str
    message: str
    type: NotificationType
    priority: Priority
    is_read: bool
    conversation_id: str | None
    link: str | None
    created_at: str
    seen_at: str | None
    read_at: str | None
    archived_at: str | None
    snoozed_until: str | None
    urgency: Urgency | None = None
    category: str | None = None
    thread: str | None = None
    supersedes: str | None = None
    needs_ack: bool | None = None
    expires_in_seconds: int | None = None

    @model_serializer(mode="wrap")
    def _without_what_was_not_asked(self, shown: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # the schema is the model's
        document: dict[str, Any] = shown(self)
        return {name: one for name, one in document.items() if one is not None or name not in WISH_FIELDS}

    @classmethod
    def of(cls, one: Notification) -> Self:
        return cls(
            id=one.id,
            message=one.message,
            type=one.type,
            priority=one.priority,
            is_read=one.read_at_us is not None,
            conversation_id=one.conversation_id,
            link=one.link,
            created_at=to_text(one.created_at_us),
            seen_at=_moment(one.seen_at_us),
            read_at=_moment(one.read_at_us),
            archived_at=_moment(one.archived_at_us),
            snoozed_until=_moment(one.snoozed_until_us),
            **wish_object(one.wish),
        )


class NotificationList(BaseModel):
    items: list[NotificationOut]
    limit: int
    next_cursor: Annotated[str | None, Field(description="Ask with `cursor` set to this for the next page")]


class UnreadCount(BaseModel):
    count: int


class UpdatedCount(BaseModel):
    updated_count: int


def _moment(us: int | None) -> str | None:
    return None if us is None else to_text(us)


def _wall_time(moment: time | None) -> str | None:
    return None if moment is None else moment.isoformat("seconds" if moment.second else "minutes")
