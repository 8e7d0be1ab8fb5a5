"""The messenger's own `notify_status` does not go round through the switchboard; its `notify` is the plane itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.errors import InternalError
from postroom.doors.messenger.channel_tools import ORIGIN
from postroom.work.delivery.sender_status import SenderStatus


class StraightToDelivery:
    """Has the shape of the switchboard to the butler in front of it."""

    def __init__(self, status: SenderStatus) -> None:
        self._status = status

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        if tool == "delivery_status":
            return await self._status.answer(ORIGIN, arguments["delivery_id"])
        if tool == "deliver" and "refusal" in arguments:
            return {}  # it never became a message, and the switchboard's record is not ours
        raise InternalError(f"the messenger has no {tool}")
