"""The session tools: give the butler's model something to do, and see what it did."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.domain.error_shapes import error_answer
from postroom.domain.errors import PostroomError
from postroom.domain.principal import Principal
from postroom.domain.route import parse_route, route_error
from postroom.domain.time import to_text
from postroom.doors.butler.daemon import Butler
from postroom.doors.butler.session_answers import accepted, details, route_accepted, summary
from postroom.doors.guard.answered import answered
from postroom.doors.guard.caller import caller
from postroom.doors.guard.json_body import Text

Limit = Annotated[int, Field(ge=1, le=500)]
_READS = ToolAnnotations(read_only_hint=True)


def add_session_tools(server: MCPServer[Any], butler: Butler) -> None:
    @answered(error_answer)
    async def trigger(
        context: Context[Any, Any], prompt: Annotated[Text, Field(min_length=1, max_length=100_000)]
    ) -> dict[str, Any]:
        """Start a session with this prompt. Answers `accepted` once it is stored; look it up with sessions_get."""
        by = caller(context, butler.verifier)
        return accepted(await butler.sessions.submit(prompt, trigger="trigger", caller=by))

    async def sessions_list(limit: Limit = 50, before: Text | None = None) -> dict[str, Any]:
        """The latest sessions, newest first; `before` a session id goes further back."""
        sessions = await butler.sessions.newest(limit=limit, before=before)
        return {"sessions": [summary(session) for session in sessions], "count": len(sessions)}

    async def sessions_get(session_id: Text) -> dict[str, Any]:
        """One session with its transcript."""
        found = await butler.sessions.get(session_id)
        return details(found) if found else {"error": f"Session {session_id[:64]} not found"}

    async def sessions_stop(session_id: Text) -> dict[str, Any]:
        """End a session that waits or runs; one that has ended stays as it ended."""
        found = await butler.sessions.halt(session_id)
        return summary(found) if found else {"error": f"Session {session_id[:64]} not found"}

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
    server.add_tool(sessions_stop, annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=True))
    server.add_tool(schedule_list, annotations=_READS)


def add_route_tool(server: MCPServer[Any], butler: Butler) -> None:
    """Not on the messenger, whose `route.execute` delivers."""

    async def route_execute(context: Context[Any, Any], route: dict[str, Any]) -> dict[str, Any]:
        """Take a route.v1 from the switchboard; answers `accepted` once it is stored."""
        return await execute_route(butler, caller(context, butler.verifier), route)

    server.add_tool(route_execute, name="route.execute")


async def execute_route(butler: Butler, by: Principal, payload: object) -> dict[str, Any]:
    """The same subrequest may arrive twice; it becomes one session."""
    started = butler.clock.now_us()
    request_context: dict[str, Any] = {}
    try:
        route = parse_route(payload)
        request_context = dict(route.request_context)
        session = await butler.sessions.submit(
            route.prompt,
            trigger="route",
            caller=by,
            material=route.context,
            context=request_context,
            key=f"{route.request_id}:{hashlib.sha256(route.prompt.encode()).hexdigest()[:16]}",
        )
        return route_accepted(session, request_context, (butler.clock.now_us() - started) / 1000)
    except PostroomError as error:
        timing = {"duration_ms": (butler.clock.now_us() - started) / 1000}
        return route_error(error, request_context) | {"timing": timing}


def _shown(schedule: Any) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "cron": schedule.cron,
        "timezone": schedule.timezone,
        "kind": "prompt" if schedule.prompt is not None else "notify",
    }
