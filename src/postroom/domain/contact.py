"""What looking for a person or an agent by name came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class MatchType(StrEnum):
    EXPLICIT = "explicit"
    MEMORY = "memory"
    EXACT = "exact"
    FUZZY = "fuzzy"
    SMART_FUZZY = "smart_fuzzy"


class DecisionMode(StrEnum):
    SENT = "sent"
    RESOLVED = "resolved"
    NEEDS_CONFIRMATION = "needs_confirmation"
    NEEDS_DISAMBIGUATION = "needs_disambiguation"
    CONTACT_NOT_FOUND = "contact_not_found"


class InputMode(StrEnum):
    TEXT = "text"
    VOICE = "voice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Somebody a name may have meant, and why we think so."""

    agent_address: str
    display_name: str
    alias: str
    match_type: MatchType
    score: float
    hint: str
    why: str
    contact_id: str = ""
    fingerprint: str = ""
    resolution_token: str | None = None

    def document(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "agent_address": self.agent_address,
            "display_name": self.display_name,
            "alias": self.alias,
            "match_type": str(self.match_type),
            "score": round(self.score, 4),
            "hint": self.hint,
            "why": self.why,
        }
        if self.resolution_token:
            shown["resolution_token"] = self.resolution_token
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What became of a name. `resolved` means: good enough to send without asking anybody."""

    query: str
    decision_mode: DecisionMode
    why: str
    match_type: MatchType | None = None
    candidates: tuple[Candidate, ...] = ()
    resolution_token: str | None = None
    expires_at: str | None = None

    @property
    def resolved(self) -> bool:
        return self.decision_mode is DecisionMode.RESOLVED

    @property
    def chosen(self) -> Candidate | None:
        return self.candidates[0] if self.resolved else None

    def document(self) -> dict[str, Any]:
        chosen = self.chosen
        return {
            "resolved": self.resolved,
            "matched_alias": chosen.alias if chosen else None,
            "match_type": str(self.match_type) if self.match_type else None,
            "agent_address": chosen.agent_address if chosen else None,
            "score": round(self.candidates[0].score, 4) if self.candidates else None,
            "query_normalized": self.query,
            "why": self.why,
            "candidates": [candidate.document() for candidate in self.candidates],
            "resolution_token": self.resolution_token,
            "expires_at": self.expires_at,
        }


def read_resolution(document: Mapping[str, Any]) -> Resolution:
    """The other way round, for whoever asked a registry over the wire; raises KeyError or ValueError."""
    return Resolution(
        query=str(document["query_normalized"]),
        decision_mode=DecisionMode(document["decision_mode"]),
        why=str(document["why"]),
        match_type=MatchType(document["match_type"]) if document["match_type"] else None,
        candidates=tuple(
            Candidate(
                agent_address=str(one["agent_address"]),
                display_name=str(one["display_name"]),
                alias=str(one["alias"]),
                match_type=MatchType(one["match_type"]),
                score=float(one["score"]),
                hint=str(one["hint"]),
                why=str(one["why"]),
                resolution_token=one.get("resolution_token"),
            )
            for one in document["candidates"]
        ),
        resolution_token=document["resolution_token"],
        expires_at=document["expires_at"],
    )
