"""Texts in the pieces that an ntfy server shows as messages; anything longer it turns into a file."""

from __future__ import annotations

import json
from typing import Final

from postroom.domain.delivery import REPEAT_MARK
from postroom.world.channels.telegram_text import cut, marked, split

MESSAGE_BYTES: Final = 4_095  # the server takes the 4,096th byte for the sign of a file
BODY_BYTES: Final = 8_191  # and twice as much of JSON is all it reads
_WRITTEN_BYTES: Final = 5_000  # of a text as JSON writes it, which leaves room for title and buttons
_ROOM: Final = MESSAGE_BYTES * _WRITTEN_BYTES  # both limits in one measure
_TITLE_BYTES: Final = 250


def utf8_length(text: str) -> int:
    return len(text.encode())


def written_length(text: str) -> int:
    """Between the quotes of JSON, where some characters become several."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def parts_of(text: str, *, repeated: bool = False) -> list[str]:
    parts = split(text, _ROOM, _room_taken)
    return marked(parts, REPEAT_MARK, MESSAGE_BYTES, utf8_length) if repeated else parts


def _room_taken(text: str) -> int:
    """Of the message or of its JSON, whichever a character fills faster."""
    return sum(max(utf8_length(one) * _WRITTEN_BYTES, written_length(one) * MESSAGE_BYTES) for one in text)


def title_of(text: str) -> str:
    return cut(" ".join(text.split()), _TITLE_BYTES, utf8_length)
