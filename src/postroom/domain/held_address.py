"""Who stands behind an address, in as few words as a list of names needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAddress:
    """One person at one address; without a channel, a person who was asked for by id."""

    person_id: str
    name: str
    channel: str | None = None
    folded: str | None = None
    is_verified: bool = False
