"""Who and what has a name at Slack: people, channels, direct messages, and single messages in them."""

from __future__ import annotations

import re
from typing import Final

PLACE: Final = r"[CDGUW][A-Z0-9]{1,30}"
MESSAGE_ID: Final = r"\d{1,12}\.\d{1,6}"

_PLACE = re.compile(PLACE, re.ASCII)
_USER = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)
_MESSAGE_ID = re.compile(MESSAGE_ID, re.ASCII)


def address(text: str) -> str | None:
    """An id as Slack writes it; a #name or an @name can change hands, so it is no address."""
    text = text.strip(" ")
    return text if _PLACE.fullmatch(text) else None


def is_user(place: object) -> bool:
    """A person, who is written to in a direct message with an id of its own."""
    return isinstance(place, str) and _USER.fullmatch(place) is not None


def is_place(place: object) -> bool:
    return isinstance(place, str) and _PLACE.fullmatch(place) is not None


def is_message_id(text: object) -> bool:
    return isinstance(text, str) and _MESSAGE_ID.fullmatch(text) is not None
