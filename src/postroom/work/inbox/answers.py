"""What an agent is told: the shapes of the send_notification contract, to the letter."""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from postroom.domain.email_copy import MUTED, Defer, Drop, Verdict
from postroom.domain.notification import MAX_NOTIFICATION_CHARACTERS, Notification
from postroom.domain.outcome import AnswerStatus
from postroom.domain.time import to_text
from postroom.work.inbox.letter import shortened

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
