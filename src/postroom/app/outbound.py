"""How intents leave when the delivery plane or a butler lives elsewhere: over MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.errors import PostroomError
from postroom.domain.notify import notify_document
from postroom.domain.notify_response import read_response
from postroom.domain.outcome import Outcome, refused
from postroom.domain.outgoing import Outgoing
from postroom.ports import Peer

_MARGIN_SECONDS = 10.0


class PeerOutbound:
    """Through the switchboard's `deliver`, like every other notify."""

    def __init__(self, switchboard: Peer) -> None:
        self._switchboard = switchboard

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        envelope = notify_document(outgoing)
        arguments = {"notify_request": envelope, "request_id": request_id, "wait_seconds": wait_seconds}
        try:
            return read_response(await self._switchboard.call("deliver", arguments, wait_seconds + _MARGIN_SECONDS))
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)


class PeerRoutes:
    """The switchboard's `route`: it knows where each butler lives and whether it may be sent work."""

    def __init__(self, switchboard: Peer) -> None:
        self._switchboard = switchboard

    async def route(self, butler: str, route: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        arguments = {
            "target_butler": butler,
            "prompt": route["input"]["prompt"],
            "input_context": route["input"]["context"],
            "request_context": route["request_context"],
        }
        return await self._switchboard.call("route", arguments, timeout_seconds)
