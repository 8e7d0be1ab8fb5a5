"""
Read one mail as a mailbox shows it.

Whatever arrives can be read: a header or a body that is not what it claims to
be is shown with replacement characters, never refused, because the raw bytes
are kept beside it.
"""

from __future__ import annotations

import email
import re
from collections.abc import Sequence
from email.header import decode_header
from email.message import Message

from postroom.programs.sandbox.kept_files import ArrivedFile
from postroom.programs.sandbox.records import ReceivedMail

_FOLD = re.compile(r"\r?\n(?=[ \t])")


def read_mail(raw: bytes, *, sender: str, recipients: Sequence[str]) -> ReceivedMail:
    """`sender` and `recipients` are the envelope's: what SMTP said, not what a header claims."""
    message = email.message_from_bytes(raw)
    return ReceivedMail(
        sender=shown(sender),
        recipients=tuple(shown(recipient) for recipient in recipients),
        subject=header(message, "Subject") or "",
        body=body_text(message),
        message_id=header(message, "Message-ID"),
        in_reply_to=header(message, "In-Reply-To"),
        references=header(message, "References"),
        headers=all_headers(message),
        raw=raw,
        given=tuple(_file(part) for part in message.walk() if part.get_content_disposition() == "attachment"),
    )


def header(message: Message, name: str) -> str | None:
    value = message.get(name)
    return None if value is None else decoded(unfolded(value))


def all_headers(message: Message) -> dict[str, str]:
    """Decoded values by name; a name that occurs twice has one line per occurrence."""
    values: dict[str, list[str]] = {}
    for name, value in message.items():
        values.setdefault(shown(name), []).append(decoded(unfolded(value)))
    return {name: "\n".join(lines) for name, lines in values.items()}


def body_text(message: Message) -> str:
    """The first plain text; line ends are LF and the last line's own end is left out."""
    part = next((part for part in message.walk() if _is_words(part)), message)
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    text = _decode(payload, part.get_content_charset() or "utf-8")
    return text.replace("\r\n", "\n").removesuffix("\n")


def _is_words(part: Message) -> bool:
    return part.get_content_type() == "text/plain" and part.get_content_disposition() != "attachment"


def _file(part: Message) -> ArrivedFile:
    content = part.get_payload(decode=True)
    name = decoded(unfolded(part.get_filename("")))
    return ArrivedFile(
        name=name, media_type=part.get_content_type(), content=content if isinstance(content, bytes) else b""
    )


def unfolded(value: object) -> str:
    return shown(_FOLD.sub("", str(value)))


def decoded(value: str) -> str:
    """RFC 2047 words as the characters they stand for."""
    try:
        parts = decode_header(value)
    except (ValueError, LookupError, email.errors.HeaderParseError):
        return value
    return "".join(part if isinstance(part, str) else _decode(part, charset or "ascii") for part, charset in parts)


def shown(text: str) -> str:
    """Bytes that are no UTF-8 arrive as lone surrogates, which no JSON can carry."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decode(raw: bytes, charset: str) -> str:
    try:
        return raw.decode(charset, "replace")
    except (LookupError, ValueError):
        return raw.decode("utf-8", "replace")
