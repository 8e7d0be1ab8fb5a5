"""`delivery_status`: a butler asks what became of its delivery, and the messenger answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.clock import Clock
from postroom.domain.errors import PostroomError
from postroom.domain.notify_response import notify_error
from postroom.domain.peer import Peer
from postroom.domain.principal import Principal
from postroom.domain.route import build_status_route, read_route_response
from postroom.domain.time import to_text
from postroom.doors.switchboard.registry import Registry, look_up_messenger

_TIMEOUT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRelay:
    messenger: Peer
    registry: Registry
    clock: Clock
    mint: Callable[[int], str]

    async def of(self, caller: Principal, delivery_id: str) -> dict[str, Any]:
        """Asked in the caller's name, whatever it says."""
        now_us = self.clock.now_us()
        route = build_status_route(
            request_id=self.mint(now_us), received_at=to_text(now_us), sender=caller.name, delivery_id=delivery_id
        )
        try:
            await look_up_messenger(self.registry, now_us)
            return read_route_response(await self.messenger.call("route.execute", {"route": route}, _TIMEOUT_SECONDS))
        except PostroomError as error:
            return notify_error(error)
