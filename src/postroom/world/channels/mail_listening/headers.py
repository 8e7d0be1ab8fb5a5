"""One header of a mail that anybody may have written: unfolded, decoded, bounded, never raising."""

from __future__ import annotations

import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from typing import Final

from postroom.world.channels.mail_listening.charsets import decoded_bytes

LONGEST_HEADER: Final = 4_000
_FOLD: Final = re.compile(r"[\r\n]+[ \t]*")


def header(message: Message, name: str) -> str:
    """The first of that name, as it is written; empty when there is none."""
    return next(iter(headers(message, name)), "")


def headers(message: Message, name: str) -> list[str]:
    """All of that name, the topmost first, as they are written."""
    return [plain(value) for value in message.get_all(name, [])]


def plain(value: object) -> str:
    return (
        _FOLD.sub(" ", str(value)[:LONGEST_HEADER])
        .strip()
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "replace")
    )


def shown(value: str) -> str:
    """With encoded words as the characters they stand for."""
    try:
        parts = decode_header(value[:LONGEST_HEADER])
    except (ValueError, LookupError, HeaderParseError):
        return value
    return "".join(part if isinstance(part, str) else decoded_bytes(part, charset) for part, charset in parts)
