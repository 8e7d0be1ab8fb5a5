"""What would become of a request, said without doing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from postroom.attention.attention import Attention
from postroom.delivery.accept import Acceptance, Forecast, may_be_held
from postroom.delivery.rules import limits
from postroom.delivery.rules.limits import AdmissionDecision
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import (
    FieldError,
    InternalError,
    PostroomError,
    TargetUnavailable,
    ValidationError,
    error_object,
    field_list,
)
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import to_text
from postroom.message.channel import KnownChannels
from postroom.message.outgoing import Outcome, Outgoing
from postroom.message.wire import parse_notify
from postroom.message.wishes import because


def validate(envelope: object, known_channels: KnownChannels) -> Document:
    """The validator every door uses; nothing but the envelope is looked at."""
    try:
        parse_notify(envelope, known_channels)
    except ValidationError as error:
        return {"valid": False, "errors": _listed(error)}
    return {"valid": True, "errors": []}


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Acceptance that does not commit, and what it would have said."""

    acceptance: Acceptance
    known_channels: KnownChannels
    clock: Clock
    mint: Callable[[int], str]
    attention: Attention | None = None

    async def run(self, envelope: object) -> Document:
        try:
            outgoing = await self.acceptance.placed(parse_notify(envelope, self.known_channels))
        except ValidationError as error:
            return _invalid(error)
        told = {"intent": str(outgoing.intent), "channel_adapter": f"{outgoing.channel}.{limits.SCOPE}"}
        request_id = outgoing.context.request_id if outgoing.context else self.mint(self.clock.now_us())
        try:
            forecast = await self.acceptance.forecast(outgoing, request_id=request_id)
            held = await self._held(outgoing, request_id)
        except ValidationError as error:
            return _invalid(error) | told
        except (TargetUnavailable, InternalError) as error:
            return {"valid": True, "errors": []} | told | _verdict(error)
        return {"valid": True, "errors": []} | told | _shown(forecast) | held

    async def _held(self, outgoing: Outgoing, request_id: str) -> Document:
        if self.attention is None or not may_be_held(outgoing):
            return {}
        outcome = await self.attention.forecast(outgoing, request_id)
        return {"would_be_held": _held_words(outcome)} if outcome is not None else {}


def _held_words(outcome: Outcome) -> Document:
    until = to_text(outcome.until_us) if outcome.until_us is not None else None
    when = f"would be held until {until}" if until is not None else "would not be shown"
    return {"until": until, "reasons": list(outcome.reasons), "words": f"{when}: {because(outcome.reasons)}"}


def _shown(forecast: Forecast) -> Document:
    """A request that was made before gets the first one's answer and asks nothing of the limits."""
    known, judgement = forecast.known, forecast.judgement
    return {
        "target_identity": forecast.draft.new.target_identity,
        "rate_limit_headroom": _headroom(judgement.decision),
        "in_flight": judgement.decision.in_flight if judgement.decision else None,
        "circuit": str(judgement.circuit.state),
        "duplicate_of": {"delivery_id": known.id, "status": str(known.status)} if known else None,
        "may_need_approval": forecast.needs_approval,
    } | _verdict(judgement.error if known is None else None)


def _headroom(decision: AdmissionDecision | None) -> dict[str, float]:
    """Tokens left in each tier; a send or a reaction takes one, a reply less."""
    return {str(tier.type): tier.available for tier in decision.headroom} if decision else {}


def _verdict(error: PostroomError | None) -> Document:
    if error is None:
        return {"would_be_admitted": True}
    return {"would_be_admitted": False, "refusal": error_object(error)}


def _invalid(error: ValidationError) -> Document:
    return {"valid": False, "errors": _listed(error)} | _verdict(error)


def _listed(error: ValidationError) -> list[dict[str, str]]:
    return field_list(error.fields or [FieldError("delivery", error.message, "not_deliverable")])
