"""The words of the send_notification contract that a model sees."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.attention_wish import WISH_SCHEMAS
from postroom.domain.notification import MAX_NOTIFICATION_CHARACTERS, NotificationType
from postroom.domain.risk_and_urgency import Urgency

NAME: Final = "send_notification"

DESCRIPTION: Final = (
    "Send a notification to the user. Use this when the user asks to be reminded about something, "
    "when you identify information worth flagging for later, or when you want to surface a warning. "
    "Notifications persist beyond the current conversation and can be delivered via email if the user has opted in."
)

MESSAGE_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NOTIFICATION_CHARACTERS,
    "description": f"The notification message (1-{MAX_NOTIFICATION_CHARACTERS} characters)",
}
TYPE_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "enum": [str(one) for one in NotificationType],
    "default": str(NotificationType.INFO),
    "description": 'Notification type: "reminder", "info", or "warning". Default: "info"',
}
URGENCY_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "enum": [str(one) for one in Urgency],
    "description": "How soon it should be seen, if not as its type says; the person's policy has the last word",
}
CONTRACT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"message": MESSAGE_SCHEMA, "type": TYPE_SCHEMA},
    "required": ["message"],
    "additionalProperties": False,
}
WISHES: Final = {**WISH_SCHEMAS, "urgency": URGENCY_SCHEMA}
PARAMETERS: Final[dict[str, Any]] = {
    **CONTRACT,
    "properties": {"message": MESSAGE_SCHEMA, "type": TYPE_SCHEMA, **WISHES},
}

# What surrounds a call travels beside its arguments, where no model can read or write it.
USER_META: Final = "postroom/user_id"
CONVERSATION_META: Final = "postroom/conversation_id"
CORRELATION_META: Final = "postroom/correlation_id"
