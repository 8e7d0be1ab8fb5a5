"""Texts in the pieces that an ntfy server shows as messages; anything longer it turns into a file."""

from __future__ import annotations

import json
from typing import Final

from postroom.domain.delivery import REPEAT_MARK
from postroom.world.channels.telegram_text import cut, marked, split, spread

MESSAGE_BYTES: Final = 4_095  # the server takes the 4,096th byte for the sign of a file
BODY_BYTES: Final = 8_191  # and twice as much of JSON is all it reads
_WRITTEN_BYTES: Final = 5_000  # of a text as JSON writes it, which leaves room for title and buttons
_TITLE_BYTES: Final = 250


def utf8_length(text: str) -> int:
    return len(text.encode())


def written_length(text: str) -> int:
    """Between the quotes of JSON, where some characters become several."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def parts_of(text: str, *, repeated: bool = False) -> list[str]:
    parts = [
        piece
        for part in split(text, MESSAGE_BYTES, utf8_length)
        for piece in split(part, _WRITTEN_BYTES, written_length)
    ]
    return marked(parts, REPEAT_MARK, MESSAGE_BYTES, utf8_length) if repeated else parts


def spread_over(text: str, messages: int) -> list[str]:
    """For the messages that stand already; what JSON would make too long loses its end."""
    return [cut(part, _WRITTEN_BYTES, written_length) for part in spread(text, messages, MESSAGE_BYTES, utf8_length)]


def title_of(text: str) -> str:
    return cut(" ".join(text.split()), _TITLE_BYTES, utf8_length)
