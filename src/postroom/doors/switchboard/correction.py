"""`correct_delivery`: a butler revises or recalls a message of its own, and the messenger does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.clock import Clock
from postroom.domain.errors import PostroomError
from postroom.domain.notify_response import notify_error
from postroom.domain.peer import Peer
from postroom.domain.principal import Principal
from postroom.domain.route import build_correction_route, read_route_response
from postroom.domain.time import to_text
from postroom.doors.switchboard.registry import Registry, look_up_messenger

_MARGIN_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionRelay:
    messenger: Peer
    registry: Registry
    clock: Clock
    mint: Callable[[int], str]

    async def correct(self, caller: Principal, correction: Mapping[str, Any], wait_seconds: float) -> dict[str, Any]:
        """Asked in the caller's name, whatever it says."""
        now_us = self.clock.now_us()
        route = build_correction_route(
            request_id=self.mint(now_us), received_at=to_text(now_us), sender=caller.name, correction=correction
        )
        asked = {"route": route, "wait_seconds": wait_seconds}
        try:
            await look_up_messenger(self.registry, now_us)
            return read_route_response(
                await self.messenger.call("route.execute", asked, wait_seconds + _MARGIN_SECONDS)
            )
        except PostroomError as error:
            return notify_error(error)
