"""A caller's key for one call, so that the same call again does nothing more."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from postroom.domain.errors import Code, FieldError, Refused

HEADER: Final = "Idempotency-Key"
MAX_KEY_CHARACTERS: Final = 255
_FIELD_CHARACTERS: Final = range(8, 129)  # what the field of an envelope may have


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCall:
    """Who calls under which key; `fingerprint` is what the call says."""

    caller: str
    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyClaim:
    """
    The first call under a key.

    `reserved_id` is the id of what that call makes: should it be cut short, the next one finds what is
    there already. Without an answer it is under way, or was cut short.
    """

    fingerprint: str
    reserved_id: str
    answer: KeptAnswer | None


def checked_key(values: list[str]) -> str | None:
    """The key that the headers give; raises Refused when it is none."""
    if not values:
        return None
    key = values[0].strip()
    if len(values) > 1:
        raise _invalid(HEADER, "must be given once")
    if not key:
        raise _invalid(HEADER, "must not be blank")
    if len(key) > MAX_KEY_CHARACTERS:
        raise _invalid(HEADER, f"must have at most {MAX_KEY_CHARACTERS} characters")
    if not (key.isascii() and key.isprintable()):
        raise _invalid(HEADER, "must be plain ASCII")
    return key


def refuse_key(values: list[str]) -> None:
    """For calls that a key would not change: one that is given expects what does not happen."""
    if values:
        raise _invalid(HEADER, "is not taken here: this call makes nothing and may be repeated without a key")


def agreed_key(header: str | None, field: str | None) -> str | None:
    """For bodies with a key of their own: the one key that header and field give, in the field's length."""
    if header is None:
        return field
    if field is not None and field != header:
        raise _invalid("idempotency_key", f"must be the same as the header {HEADER}")
    return header if len(header) in _FIELD_CHARACTERS else hashlib.sha256(header.encode()).hexdigest()


def _invalid(field: str, error: str) -> Refused:
    return Refused.of(Code.KEY_INVALID, [FieldError(field, error, "invalid")])
