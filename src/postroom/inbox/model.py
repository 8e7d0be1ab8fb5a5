"""What a notification is, and what its reader wants."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import time
from enum import StrEnum
from typing import Final, NewType

from postroom.attention.model import Policy
from postroom.attention.state import PersonRow
from postroom.message.delivery import Priority
from postroom.message.outgoing import INBOX_AGENT
from postroom.message.wishes import AttentionWish
from postroom.people.model import Purpose

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
class NewNotification:
    """`agent` is who leaves it: the program of the token, if it is a program's. `wish`: for the e-mail copy."""

    user_id: str
    message: str = field(repr=False)
    type: NotificationType = NotificationType.INFO
    agent: str = INBOX_AGENT
    wish: AttentionWish | None = None
    conversation_id: str | None = None
    correlation_id: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """
    `has_bell` is False for people who chose e-mail alone: kept as history, never counted as unread.
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

    @property
    def is_read(self) -> bool:
        return self.read_at_us is not None


class NotificationChange(StrEnum):
    """What a person can do to one notification."""

    READ = "read"
    UNREAD = "unread"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    SNOOZE = "snooze"
    DISMISS = "dismiss"
    RESTORE = "restore"


class Shelf(StrEnum):
    """A part of the inbox. Every notification lies on exactly one of SHELVES; of these some are looked at together."""

    UNREAD = "unread"
    READ = "read"
    SNOOZED = "snoozed"
    ARCHIVED = "archived"
    DISMISSED = "dismissed"
    ACTIVE = "active"  # unread and read
    ALL = "all"  # but what was dismissed


SHELVES: Final = (Shelf.UNREAD, Shelf.READ, Shelf.SNOOZED, Shelf.ARCHIVED, Shelf.DISMISSED)
MOST_SHELVED: Final = 1_000  # a person reads "more than 1,000" on a shelf as well as any figure above it


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

    shelf: Shelf = Shelf.ACTIVE
    type: NotificationType | None = None
    is_read: bool | None = None
    conversation_id: str | None = None
    after: Cursor | None = None
    limit: int = 20


# The e-mail copy of a notification.


@dataclass(frozen=True, slots=True)
class Terms:
    """
    Of e-mail copies here: if there are any, whether several that waited are one, the policy that counts for everybody,
    and the zone of who named none.
    """

    email_enabled: bool
    digest: bool = True
    household: Policy | None = None
    zone: str = "UTC"


# What became of a message that asks an address whether it is a person's own.


@dataclass(frozen=True, slots=True)
class HandedOver:
    """`delivery_id` is unknown when an earlier hand-over turned out to have succeeded."""

    delivery_id: str | None


@dataclass(frozen=True, slots=True)
class TryAgain:
    at_us: int
    reason: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    reason: str


Ending = HandedOver | TryAgain | GivenUp


# The proof that an address is the person's own: a link in a message to it.

LINK_LIFE_SECONDS: Final = 24 * 3600.0
MOST_A_DAY: Final = 3  # so that preferences are no way to write to strangers


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToConfirm:
    """
    A message to be sent: the secret stands in its link and is kept nowhere, its digest names the message.

    `attempts` counts this one, and is the right to settle it.
    """

    id: str
    digest: str
    address: str
    secret: str = field(repr=False)
    attempts: int
    purpose: Purpose = Purpose.INBOX
    channel: str = "email"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressClaim:
    """What a link confirms: that this address is this person's."""

    user_id: str
    address: str
    purpose: Purpose = Purpose.INBOX
    channel: str = "email"


# What surrounds a call of send_notification travels beside its arguments, where no model can read or write it.
USER_META: Final = "postroom/user_id"
CONVERSATION_META: Final = "postroom/conversation_id"
CORRELATION_META: Final = "postroom/correlation_id"


def shortened(text: str, most: int) -> str:
    """One line of plain characters: nothing in it can end a header or pose as an encoded one."""
    line = " ".join(text.split())
    line = "".join(one for one in line if unicodedata.category(one) not in ("Cc", "Cs")).replace("=?", "= ?").strip()
    return line if len(line) <= most else f"{line[: most - 3].rstrip()}..."
