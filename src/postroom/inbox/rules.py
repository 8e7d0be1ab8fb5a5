"""A call of send_notification checked and answered, a change of a notification, and cursors as clients hold them."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import Final, NotRequired, TypedDict, assert_never
from uuid import UUID

from postroom.inbox.model import (
    MAX_NOTIFICATION_CHARACTERS,
    MUTED,
    PRIORITY_OF,
    Cursor,
    Defer,
    Drop,
    Notification,
    NotificationChange,
    NotificationType,
    Verdict,
    shortened,
)
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import Fields, text_problem
from postroom.kernel.values.ids import is_uuid, to_text
from postroom.message.delivery import Priority
from postroom.message.outgoing import INBOX_AGENT, AnswerStatus
from postroom.message.wire import WISH_FIELDS, read_wish
from postroom.message.wishes import AttentionWish, Urgency

MAX_IDENTITY_CHARACTERS: Final = 128
MAX_LINK_CHARACTERS: Final = 2000
BAD_TYPE: Final = f"Type must be one of: {', '.join(NotificationType)}"
_PRIORITIES: Final = {
    Urgency.PASSIVE: Priority.LOW,
    Urgency.NORMAL: Priority.MEDIUM,
    Urgency.TIME_SENSITIVE: Priority.HIGH,
    Urgency.CRITICAL: Priority.HIGH,
}
NO_USER: Final = "user_id is required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """As it came: nothing about it is certain."""

    message: object
    type: object = NotificationType.INFO
    user_id: object = None
    conversation_id: object = None
    correlation_id: object = None
    link: str | None = None
    agent: str = INBOX_AGENT
    urgency: object = None
    category: object = None
    thread: object = None
    supersedes: object = None
    needs_ack: object = None
    expires_in_seconds: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    message: str
    type: NotificationType
    user_id: str
    conversation_id: str | None
    correlation_id: str | None
    priority: Priority
    link: str | None
    agent: str
    wish: AttentionWish | None


def check(request: Request) -> Checked:
    """Raises ValidationError whose message is the contract's sentence."""
    message, kind, wish = _message(request.message), _type(request.type), _wish(request)
    asked = _PRIORITIES[wish.urgency] if wish is not None and wish.urgency is not None else None
    return Checked(
        message=message,
        type=kind,
        user_id=_user(request.user_id),
        conversation_id=_identity("conversation_id", request.conversation_id),
        correlation_id=_identity("correlation_id", request.correlation_id),
        priority=asked or PRIORITY_OF[kind],
        link=_link(request.link),
        agent=request.agent,
        wish=wish,
    )


def _message(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(text := value.strip()) <= MAX_NOTIFICATION_CHARACTERS:
        raise _request_refused("message", BAD_MESSAGE)
    if problem := text_problem(text):
        raise _request_refused("message", f"Message {problem}")
    return text


def _type(value: object) -> NotificationType:
    if value is None:
        return NotificationType.INFO
    if not isinstance(value, str) or value not in list(NotificationType):
        raise _request_refused("type", BAD_TYPE)
    return NotificationType(value)


def _wish(request: Request) -> AttentionWish | None:
    """Read as `notify` reads it; the sentence is about the first field that is wrong, and the error about all."""
    fields = Fields({name: getattr(request, name) for name in WISH_FIELDS})
    wish = read_wish(fields)
    if fields.complaints:
        first = fields.complaints[0]
        name = first.field if "_" in first.field else first.field.capitalize()
        raise ValidationError(f"{name} {first.error}", fields=fields.complaints)
    return wish


def _user(value: object) -> str:
    user_id = _identity("user_id", value)
    if user_id is None:
        raise _request_refused("user_id", NO_USER)
    return user_id


def _identity(name: str, value: object) -> str | None:
    """Programs keep ids as text, numbers or UUIDs; all of them are kept as text here."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        raise _request_refused(name, f"{name} must be a string")
    if isinstance(value, int) and value.bit_length() > MAX_IDENTITY_CHARACTERS:
        raise _request_refused(name, f"{name} is too large")
    text = str(value).strip()
    if len(text) > MAX_IDENTITY_CHARACTERS or text_problem(text):
        raise _request_refused(name, f"{name} must be plain text of at most {MAX_IDENTITY_CHARACTERS} characters")
    return text or None


def _link(value: str | None) -> str | None:
    if value is None:
        return None
    if len(value) > MAX_LINK_CHARACTERS or not value.startswith(("https://", "http://")) or not value.isprintable():
        raise _request_refused("link", f"link must be an http(s) address of at most {MAX_LINK_CHARACTERS} characters")
    return value


def _request_refused(field: str, sentence: str) -> ValidationError:
    return ValidationError(sentence, fields=[FieldError(field, sentence, "invalid")])


# What an agent is told: the shapes of the send_notification contract, to the letter.

PREVIEW_CHARACTERS: Final = 50
BAD_MESSAGE: Final = f"Message must be between 1 and {MAX_NOTIFICATION_CHARACTERS} characters"


class Answer(TypedDict):
    success: bool
    action: str
    message: str
    notification_id: NotRequired[str]
    type: NotRequired[str]
    status: NotRequired[str]
    notice_id: NotRequired[str]
    until: NotRequired[str]
    reasons: NotRequired[list[str]]


class CopyNotSent(TypedDict):
    """What the specification does not know; it stands in the answer only where a copy waits, or is muted."""

    status: str
    notice_id: str
    until: NotRequired[str]
    reasons: list[str]


def created(notification: Notification, email: Verdict | None = None) -> Answer:
    """The note is in the inbox; of an e-mail copy that is held, until when and why."""
    answer: Answer = {
        "success": True,
        "action": "notification_created",
        "message": f"Notification created: {shortened(notification.message, PREVIEW_CHARACTERS)}",
        "notification_id": notification.id,
        "type": str(notification.type),
    }
    if isinstance(email, Defer):
        return {**answer, **_held(notification, email)}
    if isinstance(email, Drop) and email.reason == MUTED:
        return {**answer, "status": str(AnswerStatus.MUTED), "notice_id": notification.id, "reasons": [MUTED]}
    return answer


def _held(notification: Notification, email: Defer) -> CopyNotSent:
    """The copy has no id of its own: what asks for a held notice's is answered under the note's."""
    return {
        "status": str(AnswerStatus.DEFERRED),
        "notice_id": notification.id,
        "until": to_text(email.until_us),
        "reasons": [str(one.reason) for one in email.reasons],
    }


def validation_error(message: str = BAD_MESSAGE) -> Answer:
    return {"success": False, "action": "validation_error", "message": message}


def rate_limited() -> Answer:
    return {
        "success": False,
        "action": "rate_limited",
        "message": "Notification rate limit exceeded. Try again later.",
    }


def failed(details: str) -> Answer:
    """`details` is a sentence of ours, never the text of an exception."""
    return {"success": False, "action": "error", "message": f"Failed to create notification: {details}"}


# What becomes of a notification when its reader does something to it.


def apply(
    notification: Notification, change: NotificationChange, *, now_us: int, until_us: int | None = None
) -> Notification | None:
    """
    Doing it twice is doing it once: the first time stands.

    To its reader, what was dismissed is gone (None), except for dismissing it again.
    """
    if notification.dismissed_at_us is not None:
        return notification if change is NotificationChange.DISMISS else None
    after = _after(change, notification, now_us, until_us)
    return notification if after == notification else replace(after, updated_at_us=now_us)


def restored(notification: Notification, *, now_us: int) -> Notification:
    """Back among what was read, for whoever still sees what was dismissed."""
    if notification.dismissed_at_us is None:
        return notification
    return replace(notification, dismissed_at_us=None, updated_at_us=now_us)


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
            return replace(read, dismissed_at_us=now_us)
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
        raise _refused() from None
    moment, _, identifier = raw.partition(".")
    if not (moment.isdigit() and len(moment) < 19 and is_uuid(identifier)):
        raise _refused()
    return Cursor(int(moment), identifier)


def _refused() -> ValidationError:
    return ValidationError.of([FieldError("cursor", "is not a cursor of this list", "invalid")])
