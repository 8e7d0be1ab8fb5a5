"""Header values that cannot grow a second header."""

from __future__ import annotations

import base64
import re

from postroom.domain.errors import ValidationError

_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ENCODED_WORD = re.compile(r"=\?[^?]*\?[bBqQ]\?")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,400}@[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\[\]:-]{1,400}")

_LONGEST_PLAIN = 66  # with its name, still one line of 78
_WORD_BYTES = 42  # 56 characters in base64, within the 75 of an encoded word


def checked(name: str, value: str) -> str:
    """
    The value, when it is one line of text.

    Encoded words are refused because readers decode them: whoever writes one
    here wants to smuggle in what the raw characters would not have let through.
    """
    if _FORBIDDEN.search(value):
        raise ValidationError(f"{name} must be one line without control characters")
    if _ENCODED_WORD.search(value):
        raise ValidationError(f"{name} must be plain text, not an encoded word")
    return value


def message_id(name: str, text: str) -> str | None:
    """The text as `<left@right>`, or None when it is some other kind of identifier."""
    inner = checked(name, text.strip(" ")).removeprefix("<").removesuffix(">")
    return f"<{inner}>" if _MESSAGE_ID.fullmatch(inner) and "=?" not in inner else None


def encoded(value: str) -> str:
    """Short ASCII as it is; everything else as folded encoded words (RFC 2047)."""
    if value.isascii() and len(value) <= _LONGEST_PLAIN:
        return value
    return "\r\n ".join(f"=?utf-8?b?{base64.b64encode(piece).decode()}?=" for piece in _pieces(value))


def _pieces(value: str) -> list[bytes]:
    """Cut between characters, since every encoded word is decoded on its own."""
    pieces = [b""]
    for character in value:
        raw = character.encode()
        if len(pieces[-1]) + len(raw) > _WORD_BYTES:
            pieces.append(b"")
        pieces[-1] += raw
    return pieces
