"""The messenger's own tools do not go round through the switchboard; its `notify` is the plane itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.errors import InternalError
from postroom.domain.principal import Principal, Role
from postroom.doors.messenger.channel_tools import ORIGIN
from postroom.doors.messenger.correction_tools import CorrectionDesk
from postroom.work.delivery.sender_status import SenderStatus


class StraightToDelivery:
    """Has the shape of the switchboard to the butler in front of it."""

    def __init__(self, status: SenderStatus, corrections: CorrectionDesk) -> None:
        self._status = status
        self._corrections = corrections

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        if tool == "delivery_status":
            return await self._status.answer(ORIGIN, arguments["delivery_id"])
        if tool == "correct_delivery":
            actor, patience = str(Principal(Role.BUTLER, ORIGIN)), arguments["wait_seconds"]
            asked = arguments["correction"]
            return await self._corrections.correct(asked, actor=actor, sender=ORIGIN, wait_seconds=patience)
        if tool == "deliver" and "refusal" in arguments:
            return {}  # it never became a message, and the switchboard's record is not ours
        raise InternalError(f"the messenger has no {tool}")
