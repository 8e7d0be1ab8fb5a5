"""The answers of send_notification, what a change makes of a notification, and cursors as clients hold them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NotRequired, assert_never
from uuid import UUID

from typing_extensions import TypedDict

from postroom.attention.model import UNSENT, NoticeState
from postroom.attention.state import Standing
from postroom.inbox.model import (
    MAX_NOTIFICATION_CHARACTERS,
    PRIORITY_OF,
    Cursor,
    NewNotification,
    Notification,
    NotificationChange,
    NotificationType,
    shortened,
)
from postroom.kernel.values.errors import (
    FieldError,
    InternalError,
    OverloadRejected,
    PostroomError,
    Refused,
    ValidationError,
)
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.ids import is_uuid, to_text
from postroom.message.delivery import Priority
from postroom.message.outgoing import AnswerStatus
from postroom.message.wishes import Urgency

_MOST_OF_AN_IDENTITY: Final = 128
_PREVIEW_CHARACTERS: Final = 50
_BAD_MESSAGE: Final = f"Message must be between 1 and {MAX_NOTIFICATION_CHARACTERS} characters"
_BAD_TYPE: Final = f"Type must be one of: {', '.join(NotificationType)}"
_LIMITED: Final = "Notification rate limit exceeded. Try again later."
_PRIORITIES: Final = {
    Urgency.PASSIVE: Priority.LOW,
    Urgency.NORMAL: Priority.MEDIUM,
    Urgency.TIME_SENSITIVE: Priority.HIGH,
    Urgency.CRITICAL: Priority.HIGH,
}


def priority_of(new: NewNotification) -> Priority:
    urgency = new.wish.urgency if new.wish is not None else None
    return PRIORITY_OF[new.type] if urgency is None else _PRIORITIES[urgency]


def identity(name: str, value: object) -> str | None:
    """Programs keep ids as text, numbers or UUIDs; all of them are kept as text here."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        raise wrong(name, "must be a string")
    if isinstance(value, int) and value.bit_length() > _MOST_OF_AN_IDENTITY:
        raise wrong(name, "is too large")
    text = str(value).strip()
    if len(text) > _MOST_OF_AN_IDENTITY or text_problem(text):
        raise wrong(name, f"must be plain text of at most {_MOST_OF_AN_IDENTITY} characters")
    return text or None


def whose(value: object) -> str:
    user_id = identity("user_id", value)
    if user_id is None:
        raise wrong("user_id", "is required")
    return user_id


def wrong(name: str, error: str) -> ValidationError:
    return ValidationError.of([FieldError(name, error, "invalid")])


# What an agent is told: the shapes of the send_notification contract, to the letter.


class Sent(TypedDict):
    """The last four are not the contract's; they stand in an answer only where an e-mail copy waits, or is muted."""

    success: bool
    action: str
    message: str
    notification_id: NotRequired[str]
    type: NotRequired[str]
    status: NotRequired[str]
    notice_id: NotRequired[str]
    until: NotRequired[str]
    reasons: NotRequired[list[str]]


def created(notification: Notification, copy: Standing | None) -> Sent:
    answer: Sent = {
        "success": True,
        "action": "notification_created",
        "message": f"Notification created: {shortened(notification.message, _PREVIEW_CHARACTERS)}",
        "notification_id": notification.id,
        "type": str(notification.type),
    }
    if copy is None or copy.state not in (*UNSENT, NoticeState.MUTED):
        return answer
    status = AnswerStatus.MUTED if copy.state is NoticeState.MUTED else AnswerStatus.DEFERRED
    answer["status"], answer["notice_id"] = str(status), copy.notice.id
    if copy.until_us is not None:
        answer["until"] = to_text(copy.until_us)
    answer["reasons"] = [str(one.reason) for one in copy.reasons]
    return answer


def not_created(error: PostroomError) -> Sent:
    """None of them repeats the text of an exception."""
    match error:
        case Refused() | ValidationError():
            return {"success": False, "action": "validation_error", "message": _sentence(error.fields)}
        case OverloadRejected():
            return {"success": False, "action": "rate_limited", "message": _LIMITED}
        case InternalError():
            return failed("internal error")
        case _:
            return failed("the inbox is not available right now")


def failed(details: str) -> Sent:
    """`details` is a sentence of ours."""
    return {"success": False, "action": "error", "message": f"Failed to create notification: {details}"}


def _sentence(fields: Sequence[FieldError]) -> str:
    """One: the contract knows no list. What is wrong with the message comes first, as nothing is left without it."""
    one = next((one for one in fields if one.field == "message"), fields[0] if fields else None)
    match one:
        case None:
            return _BAD_MESSAGE
        case FieldError("message", _, code) if code != "invalid_text":
            return _BAD_MESSAGE
        case FieldError("type"):
            return _BAD_TYPE
        case FieldError(name, error, "unknown_field"):
            return f"Unknown argument {name}{error.removeprefix('unknown field')}"
        case FieldError(name, error):
            return f"{name if '_' in name else name.capitalize()} {error}"


# What becomes of a notification when its reader does something to it.


def apply(
    notification: Notification, change: NotificationChange, *, now_us: int, until_us: int | None = None
) -> Notification | None:
    """
    Doing it twice is doing it once: the first time stands.

    To its reader, what was dismissed is gone (None), except for dismissing it again or bringing it back.
    """
    is_gone = notification.dismissed_at_us is not None
    if is_gone and change not in (NotificationChange.DISMISS, NotificationChange.RESTORE):
        return None
    after = _after(change, notification, now_us, until_us)
    return notification if after == notification else replace(after, updated_at_us=now_us)


def _after(change: NotificationChange, one: Notification, now_us: int, until_us: int | None) -> Notification:
    read = replace(one, seen_at_us=one.seen_at_us or now_us, read_at_us=one.read_at_us or now_us)
    match change:
        case NotificationChange.READ:
            return read
        case NotificationChange.UNREAD:
            return replace(one, read_at_us=None)
        case NotificationChange.ARCHIVE:
            return replace(read, archived_at_us=one.archived_at_us or now_us)
        case NotificationChange.UNARCHIVE:
            return replace(one, archived_at_us=None)
        case NotificationChange.SNOOZE:
            return replace(one, snoozed_until_us=until_us)
        case NotificationChange.DISMISS:
            return replace(read, dismissed_at_us=one.dismissed_at_us or now_us)
        case NotificationChange.RESTORE:
            return replace(one, dismissed_at_us=None)
        case _:
            assert_never(change)


# Cursors as clients hold them: opaque text.


def cursor_after(notification: Notification) -> str:
    return base64.urlsafe_b64encode(f"{notification.created_at_us}.{notification.id}".encode()).decode().rstrip("=")


def parse_cursor(text: str) -> Cursor:
    """Raises ValidationError on anything that is not one of ours."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        raw = ""
    moment, _, identifier = raw.partition(".")
    if not (moment.isdigit() and len(moment) < 19 and is_uuid(identifier)):
        raise wrong("cursor", "is not a cursor of this list")
    return Cursor(int(moment), identifier)
