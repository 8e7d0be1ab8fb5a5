"""A key that a person's own device keeps, and shows instead of a password."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CHALLENGE_LIFE_SECONDS: Final = 300.0
MOST_CHALLENGES: Final = 10_000  # open at a time: anybody may ask for one
MOST_PASSKEYS: Final = 20  # of one person
LONGEST_LABEL: Final = 64


class Ceremony(StrEnum):
    REGISTER = "register"
    SIGN_IN = "sign in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passkey:
    """`id` and `public_key` are base64url, as browsers write them; `counter` is what the device counted last."""

    id: str
    person_id: str
    public_key: str
    counter: int
    transports: tuple[str, ...]
    label: str
    created_at_us: int
    last_used_at_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """Kept once, for a short time: by whom it may be answered, and in which browser."""

    digest: str
    ceremony: Ceremony
    browser: str
    person_id: str | None
    expires_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where the console is, as a browser would say it; a passkey is good at one `rp_id`."""

    rp_id: str
    origin: str


def user_handle(person_id: str) -> bytes:
    """What an authenticator keeps to know the person by; it says nothing of them to others."""
    return hashlib.sha256(b"postroom passkey\x1f" + person_id.encode()).digest()
