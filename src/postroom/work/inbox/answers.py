"""What an agent is told: the shapes of the send_notification contract, to the letter."""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from postroom.domain.notification import MAX_NOTIFICATION_CHARACTERS, Notification
from postroom.work.inbox.letter import shortened

PREVIEW_CHARACTERS: Final = 50
BAD_MESSAGE: Final = f"Message must be between 1 and {MAX_NOTIFICATION_CHARACTERS} characters"


class Answer(TypedDict):
    success: bool
    action: str
    message: str
    notification_id: NotRequired[str]
    type: NotRequired[str]


def created(notification: Notification) -> Answer:
    return {
        "success": True,
        "action": "notification_created",
        "message": f"Notification created: {shortened(notification.message, PREVIEW_CHARACTERS)}",
        "notification_id": notification.id,
        "type": str(notification.type),
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
