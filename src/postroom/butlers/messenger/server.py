"""The messenger's MCP server: who may call which of its tools, and `route.execute`, by which messages reach it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.approvals.acts import ACTS as APPROVAL_ACTS
from postroom.approvals.approvals import Approvals
from postroom.butlers.messenger import acts
from postroom.butlers.messenger.desk import ORIGIN, CorrectionDesk, MessengerDesk
from postroom.butlers.routing import CarryOutRoute
from postroom.butlers.wire import Route, parse_route, parse_within, route_response
from postroom.delivery.accept import Plane
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, approver
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.principal import Principal, Role
from postroom.message.outgoing import Outcome, Outgoing, refused
from postroom.message.wire import notify_error, notify_response

# Who may call which tool; the operator may call all of them.
#
# routing          the switchboard alone: it has checked who the sender is
# channel tools    the messenger alone: no other butler reaches people past the switchboard
# correcting       anyone: the tool itself knows only the caller's own deliveries, and for the owner all of them
# reading          the messenger: what it shows is everybody's messages
# deciding         the owner, and the people `approvals.approvers` names: no token that a model or a program holds
#                  agrees to what a model wrote
# repairing        the same: a replay reaches somebody again, a discard is for good

_SWITCHBOARD: Final = "switchboard"

_REPAIRING: Final = [one.declared.tool.name for one in acts.REPAIRING if one.declared.tool]
APPROVAL_TOOL_NAMES: Final = tuple(one.declared.tool.name for one in APPROVAL_ACTS if one.declared.tool)


# `route.execute`: a route.v1 that carries a notify, delivered, or a correction of one.


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    plane: Plane
    clock: Clock
    corrections: CorrectionDesk

    async def execute(self, caller: Principal, payload: object, *, wait_seconds: float) -> Document:
        started = self.clock.now_us()
        context: Mapping[str, Any] | None = None
        try:
            route = parse_route(payload, ORIGIN)
            context = route.request_context
            _check_router(caller)
            answer = await self._carry_out(caller, route, wait_seconds)
        except ValidationError as error:
            answer = notify_error(error)
        return route_response(context, answer, (self.clock.now_us() - started) / 1000)

    async def _carry_out(self, caller: Principal, route: Route, wait_seconds: float) -> Document:
        work = route.context if isinstance(route.context, Mapping) else {}
        match work:
            case {"correction_request": Mapping() as correction, "actor": str(actor), "sender": str() | None as sender}:
                if caller.role is not Role.OPERATOR:  # who asks for it, the household says and nobody else
                    raise ValidationError(f"{caller} is not trusted to correct")
                return await self.corrections.correct(
                    correction, actor=actor, sender=sender, wait_seconds=wait_seconds, request_id=route.request_id
                )
        envelope = work.get("notify_request")
        if not isinstance(envelope, Mapping):
            raise _wrong("input.context.notify_request", "must be a notify.v1 object", "object_required")
        if envelope.get("origin_butler") != route.sender:  # whom the switchboard names
            raise _wrong("origin_butler", "is not the sender of the route", "origin_mismatch")
        try:
            outgoing = parse_within(envelope, self.plane.known_channels)
        except ValidationError as error:
            return notify_error(error, request_id=route.request_id)
        request_id = route.request_id
        return notify_response(await self.submit(caller, outgoing, request_id=request_id, wait_seconds=wait_seconds))

    async def submit(self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """The same for a switchboard in this process, which has checked message and sender already."""
        try:
            _check_router(caller)
        except ValidationError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return await self.plane.submit(_handed(caller, outgoing), request_id=request_id, wait_seconds=wait_seconds)


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])


def _check_router(caller: Principal) -> None:
    if caller.role is not Role.OPERATOR and not caller.is_butler(_SWITCHBOARD):
        raise ValidationError(f"{caller} is not trusted to route")


def _handed(caller: Principal, outgoing: Outgoing) -> Outgoing:
    """Its sender called the switchboard, and not us: that is the hop which a trace shows."""
    return replace(outgoing, handed_by=_SWITCHBOARD) if caller.is_butler(_SWITCHBOARD) else outgoing


# The server.


def build_server(
    execute: Execute,
    desk: MessengerDesk,
    verifier: Verifier,
    *,
    approvals: Approvals | None,
    approvers: Collection[str],
) -> GuardedServer:
    policy = ToolPolicy({}, verifier)
    server = GuardedServer(ORIGIN, policy, description=acts.DESCRIPTION)
    add_tools(server, (CarryOutRoute,), execute, butler=ORIGIN)
    add_tools(server, acts.ACTS, desk, butler=ORIGIN)
    may_decide = approver(approvers)
    policy.allow(dict.fromkeys(_REPAIRING, may_decide))
    if approvals is not None:
        add_tools(server, APPROVAL_ACTS, replace(approvals, may_decide=may_decide))
        policy.allow(dict.fromkeys(APPROVAL_TOOL_NAMES, may_decide))
    else:
        told = "approvals are switched off in this household (approvals.enabled), so there is no {name}"
        server.point_elsewhere({name: told.format(name=name) for name in APPROVAL_TOOL_NAMES})
    return server
