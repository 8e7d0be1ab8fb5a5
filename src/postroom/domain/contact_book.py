"""Names as they are compared, and choices as they are remembered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroom.domain.contact import Candidate
from postroom.domain.person import Person


@dataclass(frozen=True, slots=True)
class Keys:
    """One name, four ways: as written, without optional marks, in Latin letters, by its consonants."""

    normal: str
    folded: str
    latin: str
    skeletons: tuple[str, ...]
    script: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of one contact."""

    id: str
    contact_id: str
    alias: str
    keys: Keys


class ConfirmSource(StrEnum):
    USER_CHOICE = "user_choice"
    CONFIRM_SEND = "confirm_send"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """For this owner, `query` means this contact; `rival` is the best other score when that was confirmed."""

    id: str
    owner_agent: str
    query: str
    contact_id: str
    agent_address: str
    alias: str
    fingerprint: str
    rival: float
    book_version: int
    source: str
    confirm_count: int
    created_at_us: int
    confirmed_at_us: int


@dataclass(frozen=True, slots=True)
class BookGlance:
    """One look at an owner's book: its version, the memory of a query, and who has these words as an address."""

    version: int
    memory: Remembered | None
    remembered: Person | None
    addressed: Person | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Candidates that were shown for a query, under a token that works once."""

    token_hash: str
    owner_agent: str
    query: str
    candidates: tuple[Candidate, ...]
    created_at_us: int
    expires_at_us: int
