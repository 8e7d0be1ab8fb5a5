"""The messenger's own `notify` and `notify_status` do not go round through the switchboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.delivery.plane import Plane
from postroom.delivery.sender_status import SenderStatus
from postroom.domain.errors import InternalError
from postroom.messenger.channel_tools import ORIGIN
from postroom.messenger.deliver_envelope import deliver_envelope


class StraightToDelivery:
    """Has the shape of the switchboard to the butler in front of it, and is the delivery plane behind."""

    def __init__(self, plane: Plane, status: SenderStatus) -> None:
        self._plane = plane
        self._status = status

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        if tool == "delivery_status":
            return await self._status.answer(ORIGIN, arguments["delivery_id"])
        if tool != "deliver":
            raise InternalError(f"the messenger has no {tool}")
        if "refusal" in arguments:
            return {}  # it never became an envelope, and the switchboard's record is not ours
        return await deliver_envelope(
            self._plane,
            arguments["notify_request"],
            request_id=arguments["request_id"],
            wait_seconds=arguments["wait_seconds"],
        )
