"""`route`: one butler asks another, through the switchboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.clock import Clock
from postroom.domain.errors import FieldError, PostroomError, ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.peer import Peer
from postroom.domain.principal import Principal
from postroom.domain.registry import Registration
from postroom.domain.route import ROUTE_V1, route_error
from postroom.domain.time import to_text
from postroom.doors.switchboard.registry import Registry, look_up

TIMEOUT_SECONDS: Final = 30.0
_TOOL: Final = "route.execute"
_LINEAGE: Final = ("source_thread_identity", "subrequest_id", "segment_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    registry: Registry
    peer_of: Callable[[Registration], Peer]
    clock: Clock
    mint: Callable[[int], str]
    lost: Callable[[BaseException], None]  # that the butler is there, which could not be written

    async def route(
        self,
        caller: Principal,
        target: str,
        prompt: str,
        *,
        context: Any = None,
        request_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        started = self.clock.now_us()
        lineage = dict(request_context or {})
        request_id = str(lineage.get("request_id") or self.mint(started))
        try:
            _check(target, request_id)
            found = await look_up(self.registry, target, started)
            route = self._route(caller, found.name, request_id, prompt, context, lineage)
            answer = await self.peer_of(found).call(_TOOL, {"route": route}, TIMEOUT_SECONDS)
        except PostroomError as refused:
            return route_error(refused, {"request_id": request_id})
        try:
            await self.registry.seen(target, self.clock.now_us())
        except Exception as unnoted:  # the answer is true whether or not we could note that it was given
            self.lost(unnoted)
        return answer

    def _route(
        self,
        caller: Principal,
        target: str,
        request_id: str,
        prompt: str,
        context: Any,
        lineage: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The sender is the caller's principal, whatever the lineage says."""
        return {
            "schema_version": ROUTE_V1,
            "request_context": {
                **{name: str(lineage[name]) for name in _LINEAGE if lineage.get(name)},
                "request_id": request_id,
                "received_at": str(lineage.get("received_at") or to_text(self.clock.now_us())),
                "source_channel": str(lineage.get("source_channel") or "mcp"),
                "source_endpoint_identity": str(lineage.get("source_endpoint_identity") or "switchboard"),
                "source_sender_identity": str(lineage.get("source_sender_identity") or caller.name),
            },
            "input": {"prompt": prompt, "context": context},
            "target": {"butler": target, "tool": _TOOL},
            "source_metadata": {"channel": "mcp", "identity": str(caller), "tool_name": "route"},
        }


def _check(target: str, request_id: str) -> None:
    if target == "messenger":
        raise ValidationError("the messenger takes deliveries only: use notify")
    for name, text in (("target_butler", target), ("request_context.request_id", request_id)):
        if problem := text_problem(text):
            raise ValidationError.of([FieldError(name, problem, "invalid_text")])
