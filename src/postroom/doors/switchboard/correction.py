"""`correct_delivery`: a butler revises or recalls a message of its own, and the messenger does it."""

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
from postroom.domain.route import build_correction_route, read_route_response
from postroom.domain.time import to_text
from postroom.doors.switchboard.registry import Registry, look_up_messenger

_MARGIN_SECONDS: Final = 10.0
_TOOL: Final = "correct_delivery"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionRelay:
    messenger: Peer
    registry: Registry
    clock: Clock
    mint: Callable[[int], str]

    async def correct(self, caller: Principal, correction: Mapping[str, Any], wait_seconds: float) -> dict[str, Any]:
        """Asked in the caller's name, whatever it says; every call leaves a row, as every route does."""
        started = self.clock.now_us()
        request_id = self.mint(started)
        try:
            answer = await self._ask(caller, correction, wait_seconds, request_id, started)
        except PostroomError as error:
            answer = notify_error(error)
        with suppress(PostroomError):  # the answer is true whether or not we could note that it was given
            await self._note(caller, answer, request_id, started)
        return answer

    async def _ask(
        self, caller: Principal, correction: Mapping[str, Any], wait_seconds: float, request_id: str, now_us: int
    ) -> dict[str, Any]:
        await look_up_messenger(self.registry, now_us)
        route = build_correction_route(
            request_id=request_id, received_at=to_text(now_us), sender=caller.name, correction=correction
        )
        asked = {"route": route, "wait_seconds": wait_seconds}
        told = await self.messenger.call("route.execute", asked, wait_seconds + _MARGIN_SECONDS)
        return read_route_response(told)

    async def _note(self, caller: Principal, answer: Mapping[str, Any], request_id: str, started_us: int) -> None:
        failed = answer.get("status") == "error"
        await self.registry.log_route(
            request_id=request_id,
            source=str(caller),
            target="messenger",
            tool=_TOOL,
            error=f"{answer['error_class']}: {answer['error_message']}" if failed else None,
            started_us=started_us,
            now_us=self.clock.now_us(),
        )
