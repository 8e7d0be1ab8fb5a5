"""What a notification is, and what its reader wants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from enum import StrEnum
from typing import Final, NewType

from postroom.domain.attention import AttentionWish
from postroom.domain.delivery import Priority
from postroom.domain.inbox_agent import INBOX_AGENT
from postroom.domain.notice_rows import PersonRow

NotificationId = NewType("NotificationId", str)

MAX_NOTIFICATION_CHARACTERS: Final = 500


class NotificationType(StrEnum):
    REMINDER = "reminder"
    INFO = "info"
    WARNING = "warning"


# A warning is worth waking somebody for, if that somebody allows it.
PRIORITY_OF: Final = {
    NotificationType.REMINDER: Priority.MEDIUM,
    NotificationType.INFO: Priority.MEDIUM,
    NotificationType.WARNING: Priority.HIGH,
}


class DeliveryChannel(StrEnum):
    """Where a person wants notifications; the row itself is kept in every case."""

    IN_APP = "in_app"
    EMAIL = "email"
    BOTH = "both"

    @property
    def has_bell(self) -> bool:
        return self is not DeliveryChannel.EMAIL

    @property
    def has_email(self) -> bool:
        return self is not DeliveryChannel.IN_APP


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """
    `has_bell` is False for people who chose e-mail alone: kept as history, never counted as unread.

    `agent` is who left it: the program of the token, if it is a program's. `wish` is what it asked for the e-mail copy.
    """

    id: NotificationId
    user_id: str
    message: str
    type: NotificationType
    priority: Priority
    created_at_us: int
    updated_at_us: int
    conversation_id: str | None = None
    correlation_id: str | None = None
    link: str | None = None
    has_bell: bool = True
    seen_at_us: int | None = None
    read_at_us: int | None = None
    archived_at_us: int | None = None
    dismissed_at_us: int | None = None
    snoozed_until_us: int | None = None
    agent: str = INBOX_AGENT
    wish: AttentionWish | None = None


class NotificationChange(StrEnum):
    """What a person can do to one notification."""

    SEE = "see"
    READ = "read"
    UNREAD = "unread"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    SNOOZE = "snooze"
    DISMISS = "dismiss"


class View(StrEnum):
    """Which part of the inbox is looked at; what was dismissed is in none of them."""

    ACTIVE = "active"
    SNOOZED = "snoozed"
    ARCHIVED = "archived"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """
    As they are for somebody who never said anything: in the app, at any hour.

    `email_pending` is an address that counts for nothing until it is confirmed. Quiet hours are kept in the person's
    attention policy: `attention` is the row it is in, where there is one, and has precedence over the times here.
    `all_windows`: in words, when those are more than one daily window, of which the times here are the first. `zone` is
    the one in the person's record, for who has named none here.
    """

    delivery_channel: DeliveryChannel = DeliveryChannel.IN_APP
    email: str | None = None
    email_pending: str | None = None
    quiet_hours_start: time | None = None
    quiet_hours_end: time | None = None
    quiet_hours_timezone: str = ""
    high_priority_passes: bool = False
    attention: PersonRow | None = None
    all_windows: str | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a list that newer arrivals do not shift: the notification a page ended with."""

    created_at_us: int
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationQuery:
    """Which notifications are asked for, newest first."""

    view: View = View.ACTIVE
    type: NotificationType | None = None
    is_read: bool | None = None
    conversation_id: str | None = None
    after: Cursor | None = None
    limit: int = 20
