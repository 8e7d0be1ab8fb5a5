"""A message on its way to a part in another process: notify.v1 to the switchboard, route.v1 to the messenger."""

from __future__ import annotations

from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.errors import DeliveryTimeout, PostroomError, TargetUnavailable
from postroom.domain.notify_response import read_response, read_routed
from postroom.domain.notify_within import document_within
from postroom.domain.outcome import Outcome, refused
from postroom.domain.outgoing import Outgoing
from postroom.domain.peer import Peer
from postroom.domain.route import Route, build_notify_route, read_route_response
from postroom.domain.routed import Routed
from postroom.domain.time import to_text

SWITCHBOARD_MARGIN_SECONDS: Final = 10.0
MESSENGER_MARGIN_SECONDS: Final = 5.0


class SwitchboardOverWire:
    """Its tool `deliver`."""

    def __init__(self, switchboard: Peer) -> None:
        self._switchboard = switchboard

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        arguments = {
            "notify_request": document_within(outgoing),
            "request_id": request_id,
            "wait_seconds": wait_seconds,
        }
        patience = wait_seconds + SWITCHBOARD_MARGIN_SECONDS
        try:
            return read_response(await self._switchboard.call("deliver", arguments, patience))
        except PostroomError as error:
            return refused(unanswered(error, patience), request_id=request_id, channel=outgoing.channel)


class MessengerOverWire:
    """Its tool `route.execute`."""

    def __init__(self, messenger: Peer, clock: Clock) -> None:
        self._messenger = messenger
        self._clock = clock

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        envelope, received_at = document_within(outgoing), to_text(self._clock.now_us())
        route = build_notify_route(request_id=request_id, received_at=received_at, envelope=envelope)
        arguments = {"route": route, "wait_seconds": wait_seconds}
        try:
            answer = await self._messenger.call("route.execute", arguments, wait_seconds + MESSENGER_MARGIN_SECONDS)
            return read_response(read_route_response(answer))
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)


class RoutesOverWire:
    """The switchboard's `route`: it knows where each butler lives and whether it may be sent work."""

    def __init__(self, switchboard: Peer) -> None:
        self._switchboard = switchboard

    async def route(self, butler: str, route: Route, timeout_seconds: float) -> Routed:
        arguments = {
            "target_butler": butler,
            "prompt": route.prompt,
            "input_context": route.context,
            "request_context": route.request_context,
        }
        return read_routed(await self._switchboard.call("route", arguments, timeout_seconds))


def unanswered(error: PostroomError, patience_seconds: float) -> PostroomError:
    """What a silent or absent switchboard means for the message."""
    if isinstance(error, DeliveryTimeout):
        return DeliveryTimeout(
            f"the switchboard did not answer within {patience_seconds:.0f} s; it may still be delivered"
        )
    if isinstance(error, TargetUnavailable):
        return TargetUnavailable("the switchboard cannot be reached; nothing was sent")
    return error
