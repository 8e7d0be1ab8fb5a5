"""From whatever a model and its surroundings handed over to a notification worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from postroom.domain.attention import AttentionWish
from postroom.domain.attention_wish import WISH_FIELDS, read_wish
from postroom.domain.delivery import Priority
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.fields import Fields, text_problem
from postroom.domain.inbox_agent import INBOX_AGENT
from postroom.domain.notification import MAX_NOTIFICATION_CHARACTERS, PRIORITY_OF, NotificationType
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.inbox.answers import BAD_MESSAGE

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
    priority: Priority | None = None
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
        priority=request.priority or asked or PRIORITY_OF[kind],
        link=_link(request.link),
        agent=request.agent,
        wish=wish,
    )


def _message(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(text := value.strip()) <= MAX_NOTIFICATION_CHARACTERS:
        raise _refused("message", BAD_MESSAGE)
    if problem := text_problem(text):
        raise _refused("message", f"Message {problem}")
    return text


def _type(value: object) -> NotificationType:
    if value is None:
        return NotificationType.INFO
    if not isinstance(value, str) or value not in list(NotificationType):
        raise _refused("type", BAD_TYPE)
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
        raise _refused("user_id", NO_USER)
    return user_id


def _identity(name: str, value: object) -> str | None:
    """Programs keep ids as text, numbers or UUIDs; all of them are kept as text here."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        raise _refused(name, f"{name} must be a string")
    if isinstance(value, int) and value.bit_length() > MAX_IDENTITY_CHARACTERS:
        raise _refused(name, f"{name} is too large")
    text = str(value).strip()
    if len(text) > MAX_IDENTITY_CHARACTERS or text_problem(text):
        raise _refused(name, f"{name} must be plain text of at most {MAX_IDENTITY_CHARACTERS} characters")
    return text or None


def _link(value: str | None) -> str | None:
    if value is None:
        return None
    if len(value) > MAX_LINK_CHARACTERS or not value.startswith(("https://", "http://")) or not value.isprintable():
        raise _refused("link", f"link must be an http(s) address of at most {MAX_LINK_CHARACTERS} characters")
    return value


def _refused(field: str, sentence: str) -> ValidationError:
    return ValidationError(sentence, fields=[FieldError(field, sentence, "invalid")])
