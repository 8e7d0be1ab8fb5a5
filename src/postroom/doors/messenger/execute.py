"""`route.execute` of the messenger: a route.v1 that carries a notify, delivered, or asks about one or corrects it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.domain.capabilities import KnownChannels
from postroom.domain.clock import Clock
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notify_response import notify_error
from postroom.domain.notify_within import parse_within
from postroom.domain.outcome import Outcome, refused
from postroom.domain.outgoing import Outgoing
from postroom.domain.principal import Principal, Role
from postroom.domain.route import parse_route, route_response
from postroom.doors.messenger.correction_tools import CorrectionDesk
from postroom.doors.messenger.deliver_envelope import deliver_envelope
from postroom.work.delivery.plane import Plane
from postroom.work.delivery.sender_status import SenderStatus

_SWITCHBOARD: Final = "switchboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    plane: Plane
    status: SenderStatus
    clock: Clock
    corrections: CorrectionDesk

    async def execute(self, caller: Principal, payload: object, *, wait_seconds: float) -> dict[str, Any]:
        started = self.clock.now_us()
        context: Mapping[str, Any] | None = None
        try:
            route = parse_route(payload)
            context = route.request_context
            _check_router(caller)
            if (correction := _part(route.context, "correction_request")) is not None:
                told = await self.corrections.correct(
                    correction,
                    actor=str(Principal(Role.BUTLER, route.sender)),
                    sender=route.sender,
                    wait_seconds=wait_seconds,
                    request_id=route.request_id,
                )
                return route_response(context, told, self._elapsed_ms(started))
            if (question := _part(route.context, "status_request")) is not None:
                told = await self.status.answer(route.sender, question.get("delivery_id"))
                return route_response(context, told, self._elapsed_ms(started))
            envelope = _envelope(route.context)
            _check_lineage(route.sender, envelope)
        except ValidationError as error:
            return route_response(context, notify_error(error), self._elapsed_ms(started))

        def parse(payload: object, channels: KnownChannels) -> Outgoing:
            return _handed(caller, parse_within(payload, channels))

        answer = await deliver_envelope(
            self.plane, envelope, request_id=route.request_id, wait_seconds=wait_seconds, parse=parse
        )
        return route_response(context, answer, self._elapsed_ms(started))

    async def submit(self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """The same for a switchboard in this process, which has checked message and sender already."""
        try:
            _check_router(caller)
        except ValidationError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return await self.plane.submit(_handed(caller, outgoing), request_id=request_id, wait_seconds=wait_seconds)

    def _elapsed_ms(self, started_us: int) -> float:
        return (self.clock.now_us() - started_us) / 1000


def _part(context: object, name: str) -> Mapping[str, Any] | None:
    """The sender asks about a delivery, or corrects one, instead of handing one over."""
    part = context.get(name) if isinstance(context, Mapping) else None
    return part if isinstance(part, Mapping) else None


def _envelope(context: object) -> Mapping[str, Any]:
    request = context.get("notify_request") if isinstance(context, Mapping) else None
    if not isinstance(request, Mapping):
        raise ValidationError.of(
            [FieldError("input.context.notify_request", "must be a notify.v1 object", "object_required")]
        )
    return request


def _check_router(caller: Principal) -> None:
    if caller.role is not Role.OPERATOR and not caller.is_butler(_SWITCHBOARD):
        raise ValidationError(f"{caller} is not trusted to route")


def _handed(caller: Principal, outgoing: Outgoing) -> Outgoing:
    """Its sender called the switchboard, and not us: that is the hop which a trace shows."""
    return replace(outgoing, handed_by=_SWITCHBOARD) if caller.is_butler(_SWITCHBOARD) else outgoing


def _check_lineage(sender: str, envelope: Mapping[str, Any]) -> None:
    """The sender whom the switchboard names is the envelope's origin."""
    if envelope.get("origin_butler") != sender:
        raise ValidationError.of([FieldError("origin_butler", "is not the sender of the route", "origin_mismatch")])
