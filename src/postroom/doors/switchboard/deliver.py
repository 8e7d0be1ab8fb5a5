"""`deliver`: a butler's message on to the messenger, and a note of what was refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.capabilities import KnownChannels
from postroom.domain.clock import Clock
from postroom.domain.delivery import DeliveryFailure
from postroom.domain.errors import FieldError, PostroomError, ValidationError
from postroom.domain.ledger import RefusedCall
from postroom.domain.notify import parse_notify
from postroom.domain.notify_response import notify_response
from postroom.domain.notify_within import parse_within
from postroom.domain.outcome import Outcome, refused
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Outbound
from postroom.domain.principal import Principal, Role
from postroom.doors.switchboard.registry import Registry, look_up_messenger

_NOTE_SECONDS = 2.0  # a store that hangs must not turn an answer into a caller's timeout


class RefusedCalls(Protocol):
    """What led to a delivery or a notice is told by its own row; everything else is noted here."""

    async def note(self, call: RefusedCall) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    messenger: Outbound
    registry: Registry
    refusals: RefusedCalls
    clock: Clock
    mint: Callable[[int], str]
    channels: KnownChannels
    lost: Callable[[BaseException], None]  # a note that could not be written

    async def deliver(
        self,
        caller: Principal,
        envelope: Mapping[str, Any],
        *,
        request_id: str | None,
        wait_seconds: float,
        refusal: str | None = None,
    ) -> dict[str, Any]:
        """
        notify.v1 in, notify_response.v1 out.

        With a `refusal` the butler has turned the call away itself, and it is only written down.
        """
        request_id = request_id or self.mint(self.clock.now_us())
        delivery = envelope.get("delivery")
        delivery = delivery if isinstance(delivery, Mapping) else {}
        try:
            if refusal is not None:
                raise ValidationError(refusal)
            outgoing = _parser(caller)(envelope, self.channels)
        except ValidationError as error:
            outcome = refused(error, request_id=request_id)
            source, lineage = _speaker(caller, envelope.get("origin_butler")), _lineage(envelope) or request_id
            await self._note(outcome, source, lineage, delivery.get("channel"), delivery.get("intent"))
            return notify_response(outcome)
        return notify_response(await self.submit(caller, outgoing, request_id=request_id, wait_seconds=wait_seconds))

    async def submit(self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """The same for a part of this process, which has checked the message already."""
        request_id = outgoing.context.request_id if outgoing.context else request_id
        outcome = await self._hand_on(caller, outgoing, request_id, wait_seconds)
        source = _speaker(caller, outgoing.origin_butler)
        await self._note(outcome, source, request_id, outgoing.channel, outgoing.intent)
        return outcome

    async def _note(self, outcome: Outcome, source: str, request_id: str, channel: object, intent: object) -> None:
        """The answer is true whether or not we could note it; what a limit refused, the messenger has noted."""
        error = outcome.error
        if error is None or error.retry_after_seconds is not None or outcome.delivery_id or outcome.notice_id:
            return
        failure = DeliveryFailure(error.error_class, error.message)
        now_us = self.clock.now_us()
        call = RefusedCall(
            request_id=request_id, source=source, channel=channel, intent=intent, failure=failure, at_us=now_us
        )
        try:
            await asyncio.wait_for(self.refusals.note(call), _NOTE_SECONDS)
        except Exception as error:
            self.lost(error)

    async def _hand_on(self, caller: Principal, outgoing: Outgoing, request_id: str, wait_seconds: float) -> Outcome:
        try:
            check_origin(caller, outgoing.origin_butler)
            await look_up_messenger(self.registry, self.clock.now_us())
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return await self.messenger.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)


def _parser(caller: Principal) -> Callable[[object, KnownChannels], Outgoing]:
    """Buttons and revisions are taken from the household's own parts and from nobody else."""
    return parse_within if caller.role is Role.OPERATOR else parse_notify


def check_origin(caller: Principal, origin_butler: str) -> None:
    """An envelope speaks for its sender and for nobody else."""
    if caller.role is Role.OPERATOR or caller.is_butler(origin_butler):
        return
    raise ValidationError.of([FieldError("origin_butler", f"is not the caller ({caller})", "origin_mismatch")])


def _speaker(caller: Principal, origin: object) -> str:
    """The household's own doors speak for those who knocked there, and have looked at their tokens."""
    if caller.role is Role.OPERATOR and isinstance(origin, str) and origin.strip():
        return origin.strip()[:64]
    return caller.name


def _lineage(envelope: Mapping[str, Any]) -> str | None:
    context = envelope.get("request_context")
    request_id = context.get("request_id") if isinstance(context, Mapping) else None
    return request_id[:128] if isinstance(request_id, str) and request_id.strip() else None
