"""The switchboard's MCP server: deliver, route, and the registry of butlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.domain.clock import Clock
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.domain.principal import Principal, Role
from postroom.domain.registry import Registration, eligibility
from postroom.domain.time import to_text
from postroom.doors.guard.caller import caller
from postroom.doors.guard.http import Verifier
from postroom.doors.guard.json_body import Text
from postroom.doors.guard.tool_policy import Rule, any_butler, operator
from postroom.doors.switchboard.correction import CorrectionRelay
from postroom.doors.switchboard.deliver import Deliver
from postroom.doors.switchboard.registry import Registry
from postroom.doors.switchboard.route import Router
from postroom.doors.switchboard.status import StatusRelay

RULES: dict[str, Rule] = {
    "deliver": any_butler,
    "delivery_status": lambda one: one.role is Role.BUTLER,
    "correct_delivery": lambda one: one.role is Role.BUTLER,
    "route": any_butler,
    "register": lambda one: one.role is Role.BUTLER,
    "butlers_list": any_butler,
    "butler_quarantine": operator,
    "butler_release": operator,
}
_READS = ToolAnnotations(read_only_hint=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switchboard:
    """`endpoint_of` is the household's word on where a butler lives; a butler cannot say so itself."""

    deliver: Deliver
    status: StatusRelay
    correction: CorrectionRelay
    router: Router
    registry: Registry
    endpoint_of: Callable[[str], str | None]
    clock: Clock

    def as_outbound(self, caller: Principal) -> OwnOutbound:
        return OwnOutbound(self.deliver, caller)

    def as_peer(self, caller: Principal) -> OwnSwitchboard:
        return OwnSwitchboard(self, caller)


@dataclass(frozen=True, slots=True)
class OwnOutbound:
    """The switchboard's own `notify`."""

    deliver: Deliver
    caller: Principal

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        return await self.deliver.submit(self.caller, outgoing, request_id=request_id, wait_seconds=wait_seconds)


class OwnSwitchboard:
    """The switchboard's own `notify`, `notify_status`, `revise` and `recall` need no wire to itself."""

    def __init__(self, board: Switchboard, caller: Principal) -> None:
        self._board = board
        self._caller = caller

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        if tool == "delivery_status":
            return await self._board.status.of(self._caller, arguments["delivery_id"])
        if tool == "correct_delivery":
            correction, patience = arguments["correction"], arguments["wait_seconds"]
            return await self._board.correction.correct(self._caller, correction, patience)
        return await self._board.deliver.deliver(
            self._caller,
            arguments["notify_request"],
            request_id=arguments["request_id"],
            wait_seconds=arguments.get("wait_seconds", 0.0),
            refusal=arguments.get("refusal"),
        )


def add_switchboard_tools(server: MCPServer[Any], board: Switchboard, verifier: Verifier) -> None:
    _add_traffic(server, board, verifier)
    _add_registry(server, board, verifier)


def _add_traffic(server: MCPServer[Any], board: Switchboard, verifier: Verifier) -> None:
    async def deliver(
        context: Context[Any, Any],
        notify_request: dict[str, Any],
        request_id: Annotated[str | None, Field(max_length=128)] = None,
        wait_seconds: Annotated[float, Field(ge=0, le=600)] = 20.0,
        refusal: Annotated[str | None, Field(max_length=500, description="why the butler did not send it")] = None,
    ) -> dict[str, Any]:
        """Hand a notify.v1 envelope to the messenger and answer with its notify_response.v1."""
        return await board.deliver.deliver(
            caller(context, verifier),
            notify_request,
            request_id=request_id,
            wait_seconds=wait_seconds,
            refusal=refusal,
        )

    async def delivery_status(
        context: Context[Any, Any], delivery_id: Annotated[str, Field(max_length=64)]
    ) -> dict[str, Any]:
        """What became of a delivery of the calling butler's own; butlers ask with `notify_status`."""
        return await board.status.of(caller(context, verifier), delivery_id)

    async def correct_delivery(
        context: Context[Any, Any],
        correction: dict[str, Any],
        wait_seconds: Annotated[float, Field(ge=0, le=600)] = 20.0,
    ) -> dict[str, Any]:
        """Revise or recall a delivery of the calling butler's own; butlers ask with `revise` and `recall`."""
        return await board.correction.correct(caller(context, verifier), correction, wait_seconds)

    async def route(
        context: Context[Any, Any],
        target_butler: Annotated[str, Field(min_length=1, max_length=64)],
        prompt: Annotated[str, Field(min_length=1, max_length=100_000)],
        input_context: dict[str, Any] | None = None,
        request_context: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask another butler to work on a prompt; it answers `accepted` once it has stored it."""
        return await board.router.route(
            caller(context, verifier), target_butler, prompt, context=input_context, request_context=request_context
        )

    server.add_tool(deliver, annotations=ToolAnnotations(open_world_hint=True))
    server.add_tool(delivery_status, annotations=_READS)
    server.add_tool(correct_delivery, annotations=ToolAnnotations(open_world_hint=True))
    server.add_tool(route)


def _add_registry(server: MCPServer[Any], board: Switchboard, verifier: Verifier) -> None:
    async def register(
        context: Context[Any, Any],
        description: Annotated[Text, Field(max_length=500)] = "",
        modules: Annotated[list[Text], Field(max_length=50)] = [],  # noqa: B006  # the SDK copies defaults
    ) -> dict[str, Any]:
        """A butler reports that it is alive, and with which modules; repeated, it is the heartbeat."""
        return await _register(board, caller(context, verifier), description, modules)

    async def butlers_list() -> dict[str, Any]:
        """Every butler, whether it may be sent work, and if not, why."""
        now = board.clock.now_us()
        return {"butlers": [_shown(one, now) for one in await board.registry.all()]}

    async def butler_quarantine(
        name: Text, reason: Annotated[Text, Field(min_length=1, max_length=500)]
    ) -> dict[str, Any]:
        """Send no more work to a butler until it is released."""
        found = await board.registry.quarantine(name, reason)
        return {"status": "ok", "name": name} if found else {"status": "error", "error": f"{name} not found"}

    async def butler_release(name: Text) -> dict[str, Any]:
        """End a quarantine."""
        found = await board.registry.quarantine(name, None)
        return {"status": "ok", "name": name} if found else {"status": "error", "error": f"{name} not found"}

    server.add_tool(register)
    server.add_tool(butlers_list, annotations=_READS)
    server.add_tool(butler_quarantine)
    server.add_tool(butler_release)


async def _register(board: Switchboard, one: Principal, description: str, modules: list[str]) -> dict[str, Any]:
    endpoint = board.endpoint_of(one.name)
    if endpoint is None:
        return {"status": "error", "error": f"{one.name} is not in the roster"}
    await board.registry.register(
        Registration(
            name=one.name,
            endpoint_url=endpoint,
            description=description,
            modules=tuple(modules),
            last_seen_at_us=board.clock.now_us(),
        )
    )
    return {"status": "ok", "name": one.name}


def _shown(one: Registration, now_us: int) -> dict[str, Any]:
    state, reason = eligibility(one, now_us)
    return {
        "name": one.name,
        "endpoint_url": one.endpoint_url,
        "description": one.description,
        "modules": list(one.modules),
        "eligibility": str(state),
        "reason": reason,
        "last_seen_at": to_text(one.last_seen_at_us),
    }
