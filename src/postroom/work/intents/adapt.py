"""The one engine behind every assistant: find the recipient, decide, send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.clock import Clock
from postroom.domain.contact import DecisionMode, InputMode, MatchType, Resolution
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.time import to_text
from postroom.work.intents.agency import checked_address
from postroom.work.intents.envelope import AssistantCall, build_envelope
from postroom.work.people.resolve import explicit


class RegistryPort(Protocol):
    async def resolve(self, owner_agent: str, query: str, input_mode: InputMode) -> Resolution: ...

    async def confirm(
        self, owner_agent: str, query: str, *, resolution_token: str | None, agent_address: str | None
    ) -> None:
        """Raises Refused when the choice does not count."""
        ...


class GatewayPort(Protocol):
    async def submit(self, envelope: Mapping[str, Any]) -> dict[str, Any]:
        """The receipt: intent_id, status, lifecycle_status, created_at."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    registry: RegistryPort
    gateway: GatewayPort
    clock: Clock
    mint: Callable[[int], str]
    as_at_first: bool = False  # shows what the receipt says, so that the same call again gets the same answer

    async def adapt(self, call: AssistantCall) -> dict[str, Any]:
        resolution = await self._recipient(call)
        chosen = resolution.chosen
        if chosen is None or call.resolve_only:
            return _answer(resolution.decision_mode, resolution)
        now = self.clock.now_us()
        correlation_id = self.mint(now)

        def envelope_of(intent_id: str, created_at: str) -> dict[str, Any]:
            to = chosen.agent_address
            return build_envelope(call, to, intent_id=intent_id, correlation_id=correlation_id, created_at=created_at)

        envelope = envelope_of(self.mint(now), to_text(now))
        receipt = await self.gateway.submit(envelope)
        if self.as_at_first:
            envelope = envelope_of(receipt["intent_id"], receipt["created_at"])
        kept = await self._remember(call, resolution)
        return _answer(DecisionMode.SENT, resolution, envelope, receipt, kept)

    async def _recipient(self, call: AssistantCall) -> Resolution:
        token = call.resolution_token if call.confirm_send and not call.resolve_only else None
        if call.to_agent is not None and (token is None or call.recipient_name is None):
            return explicit(checked_address(call.to_agent, "to_agent"))
        if call.recipient_name is None:
            error = "name the recipient, or give its agent address"
            raise Refused(
                Code.RECIPIENT_REQUIRED, error, fields=[FieldError("recipient_name", error, "recipient_required")]
            )
        if token is not None:
            return await self._confirmed(call, call.recipient_name, token)
        return await self.registry.resolve(call.from_agent, call.recipient_name, call.input_mode)

    async def _confirmed(self, call: AssistantCall, name: str, token: str) -> Resolution:
        """
        The choice is written down and then looked up like any other, so that a
        contact that moves in between is noticed. A token that does not count
        leaves the call what it is without one.
        """
        address = checked_address(call.to_agent, "to_agent") if call.to_agent is not None else None
        try:
            await self.registry.confirm(call.from_agent, name, resolution_token=token, agent_address=address)
        except Refused as error:
            if error.code is not Code.RESOLUTION_EXPIRED:
                raise
            if address is not None:
                return explicit(address)
        return await self.registry.resolve(call.from_agent, name, call.input_mode)

    async def _remember(self, call: AssistantCall, resolution: Resolution) -> dict[str, Any] | None:
        """A confirmed send to somebody certain is remembered; where it cannot be, the message has gone all the same."""
        chosen = resolution.chosen
        if not call.confirm_send or call.recipient_name is None or chosen is None:
            return None
        if resolution.match_type is MatchType.MEMORY:
            return {"remembered": True, "why": None}
        try:
            await self.registry.confirm(
                call.from_agent, call.recipient_name, resolution_token=None, agent_address=chosen.agent_address
            )
        except Refused as error:
            return {"remembered": False, "why": error.message}
        return {"remembered": True, "why": None}


def _answer(
    mode: DecisionMode,
    resolution: Resolution,
    envelope: Mapping[str, Any] | None = None,
    receipt: Mapping[str, Any] | None = None,
    confirmation: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "ok": True,
        "decision_mode": str(mode),
        "resolution": resolution.document(),
        "envelope": dict(envelope) if envelope is not None else None,
        "delivery": {"submitted": True, "via": "gateway", **receipt} if receipt is not None else None,
        "confirmation": confirmation,
    }
