"""What was sent to a person, as far as the ledger knows it by their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SentToPerson:
    delivery_id: str
    channel: str
    address: str
    status: str
    origin_butler: str
    subject: str | None
    excerpt: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonHistory:
    """Newest first; `before` begins the next look, also below rows that were read and were for other people."""

    sent: Sequence[SentToPerson]
    before: str | None
