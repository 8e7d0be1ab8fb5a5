"""`delivery_status`: a butler asks what became of its delivery, and the messenger answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
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
_TOOL: Final = "delivery_status"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRelay:
    messenger: Peer
    registry: Registry
    clock: Clock
    mint: Callable[[int], str]

    async def of(self, caller: Principal, delivery_id: str) -> dict[str, Any]:
        """Asked in the caller's name, whatever it says; every question leaves a row, as every route does."""
        started = self.clock.now_us()
        minted = self.mint(started)
        try:
            answer = await self._ask(caller, delivery_id, minted, started)
        except PostroomError as error:
            answer = notify_error(error)
        with suppress(PostroomError):  # the answer is true whether or not we could note that it was given
            await self._note(caller, answer, minted, started)
        return answer

    async def _ask(self, caller: Principal, delivery_id: str, request_id: str, now_us: int) -> dict[str, Any]:
        await look_up_messenger(self.registry, now_us)
        route = build_status_route(
            request_id=request_id, received_at=to_text(now_us), sender=caller.name, delivery_id=delivery_id
        )
        return read_route_response(await self.messenger.call("route.execute", {"route": route}, _TIMEOUT_SECONDS))

    async def _note(self, caller: Principal, answer: Mapping[str, Any], minted: str, started_us: int) -> None:
        about = answer.get("request_context")
        failed = "delivery" not in answer
        await self.registry.log_route(
            request_id=str(about["request_id"]) if isinstance(about, Mapping) else minted,
            source=str(caller),
            target="messenger",
            tool=_TOOL,
            error=f"{answer['error_class']}: {answer['error_message']}" if failed else None,
            started_us=started_us,
            now_us=self.clock.now_us(),
        )
