"""The session tools: give the butler's model something to do, and see what it did."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.butler.daemon import Butler
from postroom.domain.errors import PostroomError
from postroom.domain.route import ROUTE_RESPONSE_V1, error_object, parse_route
from postroom.domain.time import to_text

Limit = Annotated[int, Field(ge=1, le=500)]
_READS = ToolAnnotations(read_only_hint=True)


def add_session_tools(server: MCPServer[Any], butler: Butler) -> None:
    async def trigger(prompt: Annotated[str, Field(min_length=1, max_length=100_000)]) -> dict[str, Any]:
        """Start a session with this prompt. Answers `accepted` once it is stored; look it up with sessions_get."""
        try:
            return await butler.sessions.submit(prompt=prompt, source="trigger")
        except PostroomError as error:
            return {"status": "error", "error": error_object(error)}

    async def sessions_list(limit: Limit = 50) -> dict[str, Any]:
        """The latest sessions, newest first."""
        sessions = await butler.sessions.listed(limit)
        return {"sessions": sessions, "count": len(sessions)}

    async def sessions_get(session_id: str) -> dict[str, Any]:
        """One session with its transcript."""
        return await butler.sessions.get(session_id) or {"error": f"Session {session_id[:64]} not found"}

    async def schedule_list(limit: Limit = 50) -> dict[str, Any]:
        """What this butler will do and has done by the clock: schedules and reminders."""
        rows = [
            {
                "id": one.id,
                "kind": str(one.kind),
                "name": one.name,
                "due_at": to_text(one.due_at_us),
                "status": str(one.status),
                "tries": one.tries,
                "result": one.result,
            }
            for one in await butler.scheduler.appointments.recent(limit)
        ]
        return {"schedules": [_shown(one) for one in butler.config.butler.schedule], "appointments": rows}

    server.add_tool(trigger)
    server.add_tool(sessions_list, annotations=_READS)
    server.add_tool(sessions_get, annotations=_READS)
    server.add_tool(schedule_list, annotations=_READS)


def add_route_tool(server: MCPServer[Any], butler: Butler) -> None:
    """Not on the messenger, whose `route.execute` delivers."""

    async def route_execute(route: dict[str, Any]) -> dict[str, Any]:
        """Take a route.v1 from the switchboard; answers `accepted` once it is stored."""
        return await execute_route(butler, route)

    server.add_tool(route_execute, name="route.execute")


async def execute_route(butler: Butler, payload: object) -> dict[str, Any]:
    started = butler.clock.now_us()
    answer: dict[str, Any] = {"schema_version": ROUTE_RESPONSE_V1}
    try:
        route = parse_route(payload)
        answer["request_context"] = dict(route.request_context)
        accepted = await butler.sessions.submit(
            prompt=route.prompt, source="route", request_context=route.request_context, context=route.context
        )
        answer |= {"status": "accepted", "result": accepted, "inbox_id": accepted["session_id"]}
    except PostroomError as error:
        answer |= {"status": "error", "error": error_object(error)}
    answer["timing"] = {"duration_ms": (butler.clock.now_us() - started) / 1000}
    return answer


def _shown(schedule: Any) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "cron": schedule.cron,
        "timezone": schedule.timezone,
        "kind": "prompt" if schedule.prompt is not None else "notify",
    }
