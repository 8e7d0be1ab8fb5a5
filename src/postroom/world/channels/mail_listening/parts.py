"""The parts of a mail, bounded: neither ten thousand of them, a thousand levels nor long headers cost much."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import Compat32
from typing import Final

from postroom.world.channels.mail_listening.charsets import decoded_bytes
from postroom.world.channels.mail_listening.headers import LONGEST_HEADER, shown

MOST_PARTS: Final = 50
_DEEPEST: Final = 10
_MOST_CONTAINERS: Final = 100
_MOST_LOOKS: Final = 4_000_000
"""At a line for each container that may end there; of a larger mail as many as it has bytes."""
_MOST_BYTES: Final = 262_144
_CONTAINER: Final = re.compile(rb"(?:multipart|message)/", re.IGNORECASE)
_LIBRARY_STUMBLES: Final = (ValueError, TypeError, LookupError, AttributeError, AssertionError)
_NO_FILES: Final = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_HEAD: Final = re.compile(rb"\r?\n\r?\n")


class _ShortHeaders(Compat32):
    """The library looks for the quotes of a header again at each of its semicolons, so it gets no long one."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:LONGEST_HEADER]


_POLICY: Final = _ShortHeaders()


def parsed(content: bytes) -> Message:
    """A mail that nests more than any person's program does is read as its headers alone."""
    containers = sum(1 for _ in _CONTAINER.finditer(content))
    looks = containers * (content.count(b"\n") + content.count(b"\r"))
    if containers <= _MOST_CONTAINERS and looks <= max(_MOST_LOOKS, len(content)):
        return email.message_from_bytes(content, policy=_POLICY)
    head = _HEAD.search(content)
    return BytesHeaderParser(policy=_POLICY).parsebytes(content[: head.end() if head else _MOST_BYTES])


def parts_of(message: Message) -> Iterator[Message]:
    """In the order a reader sees them, without what is in a mail that is attached."""
    waiting = [(message, 0)]
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        part, depth = waiting.pop(0)
        if part.is_multipart() and _type(part).startswith("multipart/"):
            inside = part.get_payload()
            if depth < _DEEPEST and isinstance(inside, list):
                waiting[:0] = [(one, depth + 1) for one in inside[:MOST_PARTS] if isinstance(one, Message)]
            continue
        yield part


def files_in(message: Message) -> Iterator[Message]:
    """What came with the words: attached, or shown among them with a name; a signature is no file."""
    for part in parts_of(message):
        kind = _type(part)
        if kind in _NO_FILES or (kind.startswith("multipart/") and not name_of(part)):
            continue
        if part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
            yield part


def name_of(part: Message) -> str:
    try:
        return " ".join(shown(part.get_filename() or "").split())
    except _LIBRARY_STUMBLES:
        return ""


def bytes_of(part: Message) -> bytes:
    """An attached mail is its own text."""
    try:
        if part.is_multipart():
            inside = part.get_payload()
            return inside[0].as_bytes() if isinstance(inside, list) and isinstance(inside[0], Message) else b""
        raw = part.get_payload(decode=True)
    except (*_LIBRARY_STUMBLES, RecursionError):
        return b""
    return raw if isinstance(raw, bytes) else b""


def text_of(part: Message) -> str:
    try:
        raw = part.get_payload(decode=True)
    except _LIBRARY_STUMBLES:
        return ""
    return decoded_bytes(raw[:_MOST_BYTES], _charset(part)) if isinstance(raw, bytes) else ""


def is_text(part: Message, kind: str) -> bool:
    return _type(part) == f"text/{kind}" and part.get_content_disposition() != "attachment"


def _type(part: Message) -> str:
    return part.get_content_type()


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except _LIBRARY_STUMBLES:
        return None
