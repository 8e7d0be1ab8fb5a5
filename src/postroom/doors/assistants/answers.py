"""Bodies an adapter answers with."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from postroom.doors.people.models import CandidateBody

MatchName = Literal["explicit", "memory", "exact", "fuzzy", "smart_fuzzy"]


class ResolutionBody(BaseModel):
    resolved: bool
    matched_alias: str | None
    match_type: MatchName | None
    agent_address: str | None
    score: float | None
    query_normalized: str
    why: str
    candidates: list[CandidateBody]
    resolution_token: str | None = Field(description="Give it back with confirm_send once the person has agreed.")
    expires_at: str | None


class DeliveryBody(BaseModel):
    submitted: bool
    via: Literal["gateway"]
    intent_id: str
    status: Literal["accepted", "running", "done", "failed"]
    lifecycle_status: str
    created_at: str


class ConfirmationBody(BaseModel):
    remembered: bool
    why: str | None = Field(description="Why the name will not be known the next time.")


class AdaptAnswer(BaseModel):
    ok: bool
    decision_mode: Literal["sent", "resolved", "needs_confirmation", "needs_disambiguation", "contact_not_found"]
    resolution: ResolutionBody
    envelope: dict[str, Any] | None
    delivery: DeliveryBody | None
    confirmation: ConfirmationBody | None = Field(description="Of a name that was sent to with confirm_send.")


class Health(BaseModel):
    status: Literal["ok", "degraded"]
    part: str
    household: str = Field(description="The same for all parts of one household, and for no other's.")
    loops: list[dict[str, Any]] = Field(default=[], description="Background work that fails just now.")
