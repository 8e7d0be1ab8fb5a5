"""What an agent asks for a message beyond its text, as it stands beside the message on a wire."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.attention import AttentionWish
from postroom.domain.fields import Fields
from postroom.domain.risk_and_urgency import Urgency

WISH_FIELDS: Final = ("urgency", "category", "thread", "supersedes", "needs_ack", "expires_in_seconds")
MAX_NAME_CHARACTERS: Final = 200
SHORTEST_LIFE_SECONDS: Final = 1
LONGEST_LIFE_SECONDS: Final = 30 * 86_400
_URGENCIES: Final = {str(one): one for one in Urgency}
_NAME: Final = {"type": "string", "maxLength": MAX_NAME_CHARACTERS}

# As callers see the six of them: short, because models read them.
WISH_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "urgency": {
        "type": "string",
        "enum": list(_URGENCIES),
        "description": "How soon it should be seen; the person's policy has the last word. Instead of priority.",
    },
    "category": {**_NAME, "description": "What kind of message it is, such as security."},
    "thread": {**_NAME, "description": "Your name for what belongs together."},
    "supersedes": {
        **_NAME,
        "description": "Your own key: replaces what you sent under it; what was shown is edited where it can be.",
    },
    "needs_ack": {"type": "boolean", "description": "A person has to acknowledge it."},
    "expires_in_seconds": {
        "type": "integer",
        "minimum": SHORTEST_LIFE_SECONDS,
        "maximum": LONGEST_LIFE_SECONDS,
        "description": "Not worth showing after this.",
    },
}


def read_wish(fields: Fields) -> AttentionWish | None:
    """None when nothing is asked for; what is wrong is complained about."""
    if not fields.has_any(WISH_FIELDS):
        return None
    return AttentionWish(
        urgency=_URGENCIES.get(fields.choice("urgency", _URGENCIES, default="")),
        category=fields.optional_text("category", maximum=MAX_NAME_CHARACTERS),
        thread=fields.optional_text("thread", maximum=MAX_NAME_CHARACTERS),
        supersedes=fields.optional_text("supersedes", maximum=MAX_NAME_CHARACTERS),
        needs_ack=_needs_ack(fields),
        expires_in_seconds=_expires(fields),
    )


def wish_object(wish: AttentionWish | None) -> dict[str, Any]:
    """What is not asked for is left out."""
    if wish is None:
        return {}
    asked = {
        "urgency": wish.urgency and str(wish.urgency),
        "category": wish.category,
        "thread": wish.thread,
        "supersedes": wish.supersedes,
        "needs_ack": wish.needs_ack or None,
        "expires_in_seconds": wish.expires_in_seconds,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _needs_ack(fields: Fields) -> bool:
    asked = fields.raw("needs_ack")
    if asked is not None and not isinstance(asked, bool):
        fields.complain("needs_ack", "must be true or false", "boolean_required")
    return asked is True


def _expires(fields: Fields) -> int | None:
    asked = fields.raw("expires_in_seconds")
    if asked is None:
        return None
    whole = isinstance(asked, int) and not isinstance(asked, bool)
    if whole and SHORTEST_LIFE_SECONDS <= asked <= LONGEST_LIFE_SECONDS:
        return int(asked)
    fields.complain(
        "expires_in_seconds",
        f"must be a whole number of seconds from {SHORTEST_LIFE_SECONDS} to {LONGEST_LIFE_SECONDS}",
        "out_of_range",
    )
    return None
