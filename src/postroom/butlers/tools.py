"""The tools every butler has, and the server that holds them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.butlers.acts import Remind
from postroom.butlers.daemon import Butler
from postroom.butlers.model import Session
from postroom.butlers.wire import ROUTE_RESPONSE_V1, parse_route, route_error
from postroom.delivery.acts import Notify, NotifyStatus, Recall, Revise, channel_words
from postroom.kernel.acts.declaration import Act
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import GuardedServer, Rule, ToolPolicy, butler, caller
from postroom.kernel.serving.json_door import Text, answered
from postroom.kernel.values.errors import PostroomError, error_answer, sentence
from postroom.kernel.values.fields import unsendable
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Principal

# Sessions as the tools show them.


def accepted(session: Session) -> dict[str, Any]:
    """The answer of `trigger`: the request is stored, and this is where to ask about it."""
    return {"status": "accepted", "session_id": session.id, "session_status": str(session.status)}


def route_accepted(session: Session, request_context: Mapping[str, Any], duration_ms: float) -> dict[str, Any]:
    """The answer of `route.execute` on a butler that works through its model."""
    return {
        "schema_version": ROUTE_RESPONSE_V1,
        "request_context": dict(request_context),
        "status": "accepted",
        "inbox_id": session.id,
        "result": accepted(session),
        "timing": {"duration_ms": round(duration_ms, 3)},
    }


def summary(session: Session) -> dict[str, Any]:
    """One line of `sessions_list`; what was said is only in the details."""
    shown: dict[str, Any] = {
        "session_id": session.id,
        "status": str(session.status),
        "trigger": session.trigger_source,
        "caller": session.caller,
        "runtime": session.runtime,
        "request_id": session.request_id,
        "attempt": session.attempt,
        "created_at": to_text(session.created_at_us),
        "started_at": session.started_at_us and to_text(session.started_at_us),
        "finished_at": session.finished_at_us and to_text(session.finished_at_us),
    }
    if session.started_at_us and session.finished_at_us:
        shown["duration_ms"] = round((session.finished_at_us - session.started_at_us) / 1000, 3)
    if session.error_class:
        shown["error"] = {"class": session.error_class, "message": session.error_message}
    return shown


def details(session: Session) -> dict[str, Any]:
    """`sessions_get`."""
    return summary(session) | {
        "prompt": session.prompt,
        "request_context": session.request_context and dict(session.request_context),
        "crashes": session.crashes,
        "depth": session.depth,
        "transcript": session.transcript and dict(session.transcript),
    }


# Sessions: give the butler's model something to do, and see what it did.

Limit = Annotated[int, Field(ge=1, le=500)]
_READS = ToolAnnotations(read_only_hint=True)


def add_session_tools(server: MCPServer[Any], butler: Butler) -> None:
    @answered(error_answer)
    async def trigger(
        context: Context[Any, Any], prompt: Annotated[Text, Field(min_length=1, max_length=100_000)]
    ) -> dict[str, Any]:
        """Start a session with this prompt. Answers `accepted` once it is stored; look it up with sessions_get."""
        by = caller(context, butler.verifier)
        return accepted(await butler.model().submit(prompt, trigger="trigger", caller=by))

    async def sessions_list(limit: Limit = 50, before: Text | None = None) -> dict[str, Any]:
        """The latest sessions, newest first; `before` a session id goes further back."""
        sessions = await butler.sessions.newest(limit=limit, before=before) if butler.sessions else ()
        return {"sessions": [summary(session) for session in sessions], "count": len(sessions)}

    async def sessions_get(session_id: Text) -> dict[str, Any]:
        """One session with its transcript."""
        found = await butler.sessions.get(session_id) if butler.sessions else None
        return details(found) if found else {"error": f"Session {session_id[:64]} not found"}

    async def sessions_stop(session_id: Text) -> dict[str, Any]:
        """End a session that waits or runs; one that has ended stays as it ended."""
        found = await butler.sessions.halt(session_id) if butler.sessions else None
        return summary(found) if found else {"error": f"Session {session_id[:64]} not found"}

    server.add_tool(trigger)
    server.add_tool(sessions_list, annotations=_READS)
    server.add_tool(sessions_get, annotations=_READS)
    server.add_tool(sessions_stop, annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=True))


def add_route_tool(server: MCPServer[Any], butler: Butler) -> None:
    """Not on the messenger, whose `route.execute` delivers."""

    async def route_execute(context: Context[Any, Any], route: dict[str, Any]) -> dict[str, Any]:
        """Take a route.v1 from the switchboard; answers `accepted` once it is stored."""
        return await _execute_route(butler, caller(context, butler.verifier), route)

    server.add_tool(route_execute, name="route.execute")


async def _execute_route(butler: Butler, by: Principal, payload: object) -> dict[str, Any]:
    """The same subrequest may arrive twice; it becomes one session."""
    started = butler.clock.now_us()
    request_context: dict[str, Any] = {}
    try:
        route = parse_route(payload)
        request_context = dict(route.request_context)
        session = await butler.model().submit(
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


# What it will do and has done by the clock: schedules and reminders.

_MOST_APPOINTMENTS: Final = 50


async def by_the_clock(butler: Butler) -> dict[str, Any]:
    schedules = [
        {
            "name": one.name,
            "cron": one.cron,
            "timezone": one.timezone,
            "kind": "prompt" if one.prompt is not None else "notify",
        }
        for one in butler.config.butler.schedule
    ]
    appointments = [
        {
            "id": one.id,
            "kind": str(one.kind),
            "name": one.name,
            "due_at": to_text(one.due_at_us),
            "status": str(one.status),
            "tries": one.tries,
            "result": one.result,
        }
        for one in await butler.scheduler.appointments.recent(_MOST_APPOINTMENTS)
    ]
    return {"schedules": schedules, "appointments": appointments}


# State: what a butler wants to remember between sessions.

_MAX_VALUE_BYTES: Final = 64 * 1024
Key = Annotated[Text, Field(min_length=1, max_length=200)]


def add_state_tools(server: MCPServer[Any], butler: Butler) -> None:
    async def state_get(key: Key) -> dict[str, Any]:
        """What is kept under a key: its value and version, or found=false."""
        found = await butler.state.get(key)
        if found is None:
            return {"found": False, "key": key}
        return {"found": True, "key": key, "value": found[0], "version": found[1]}

    async def state_set(key: Key, value: Any, expected_version: int | None = None) -> dict[str, Any]:
        """
        Keep a JSON value under a key.

        With `expected_version` (0 for a key that must not exist yet) it is kept only if nobody
        changed it meanwhile.
        """
        if len(json.dumps(value)) > _MAX_VALUE_BYTES:
            return {"status": "error", "error": f"the value must not exceed {_MAX_VALUE_BYTES} bytes of JSON"}
        if odd := unsendable(value, "value"):
            return {"status": "error", "error": sentence(odd)}
        now = butler.clock.now_us()
        version = await butler.state.set(key, value, expected_version=expected_version, now_us=now)
        if version is None:
            return {"status": "conflict", "key": key, "error": "the value was changed by somebody else"}
        return {"status": "ok", "key": key, "version": version}

    async def state_delete(key: Key) -> dict[str, Any]:
        """Forget a key."""
        return {"status": "ok", "key": key, "deleted": await butler.state.delete(key)}

    async def state_list(
        prefix: Annotated[Text, Field(max_length=200)] = "", limit: Annotated[int, Field(ge=1, le=500)] = 100
    ) -> dict[str, Any]:
        """The keys that begin with a prefix."""
        keys = await butler.state.keys(prefix, limit)
        return {"keys": keys, "count": len(keys)}

    server.add_tool(state_get, annotations=_READS)
    server.add_tool(state_set)
    server.add_tool(state_delete)
    server.add_tool(state_list, annotations=_READS)


# All of them together.

CORE_TOOL_NAMES: Final = (
    "status",
    "trigger",
    "route.execute",
    "notify",
    "notify_status",
    "revise",
    "recall",
    "remind",
    "state_get",
    "state_set",
    "state_delete",
    "state_list",
    "sessions_list",
    "sessions_get",
    "sessions_stop",
)


_A_PERSONS: Final = "is for people: at the API port with their own token, in the console or as `postroom attention`"
_BY_PEOPLE: Final = {name: f"{name} {_A_PERSONS}." for name in ("ack", "snooze", "mute", "away")}
_CHANGES_NO_QUESTION: Final = "take the question back with cancel_ask and ask anew, or POST /v1/asks/{ask_id}/revise"
ELSEWHERE: Final = {
    **_BY_PEOPLE,
    "withdraw": "There is no withdraw any more: recall takes back what waits, too, by its notice_id.",
    "schedule_list": "There is no schedule_list any more: status says what is done by the clock.",
    "answers": "Call wait with the ask_id; what ended meanwhile, answers tells at the API port (or GET /v1/answers).",
    "revise_ask": f"There is no revise_ask any more: {_CHANGES_NO_QUESTION}.",
    "permission_prompt": "permission_prompt is for coding agents, at the API port.",
}
ASSISTANTS_ELSEWHERE: Final = {
    "away": f"away {_A_PERSONS}; over HTTP it is POST /v1/people/{{person}}/away.",
    "withdraw": "There is no withdraw any more: recall takes a notice back, and so does POST /v1/notices/withdraw.",
    "revise_ask": ELSEWHERE["revise_ask"],
}
_AT_BUTLERS: Final = (
    *("trigger", "state_get", "state_set", "state_delete", "state_list", "sessions_list", "sessions_get"),
    *("sessions_stop", "ask", "wait", "cancel_ask", "remind"),
)


def _left_to_butlers(only: str, names: Iterable[str] = _AT_BUTLERS) -> dict[str, str]:
    """Of a server that has its own work alone."""
    return {name: f"{only}; call {name} at a butler's own server, such as general's." for name in names}


ELSEWHERE_THAN_SWITCHBOARD: Final = {
    **ELSEWHERE,
    **_left_to_butlers("The switchboard only routes", (*_AT_BUTLERS, "notify_status", "revise", "recall")),
    "route.execute": "The switchboard takes no route; route names another butler.",
}
ELSEWHERE_THAN_MESSENGER: Final = {
    **ELSEWHERE,
    **_left_to_butlers("The messenger only delivers and keeps no appointments"),
    "status": "The messenger's own health is at GET /health of its port; messenger_queue_depth says what waits.",
    "notify_status": "messenger_delivery_status says more, of every delivery.",
    "revise": "revise_delivery changes any delivery.",
    "recall": "recall_delivery takes any delivery back.",
}


def core_rules(name: str) -> dict[str, Rule]:
    """Its own tools answer to the butler itself; only the switchboard routes to it."""
    rules: dict[str, Rule] = dict.fromkeys(CORE_TOOL_NAMES, butler(name))
    rules["route.execute"] = butler("switchboard")
    return rules


def build_server(one: Butler, verifier: Verifier) -> GuardedServer:
    policy = ToolPolicy(core_rules(one.name), verifier)
    server = GuardedServer(one.name, policy, description=one.config.butler.description)
    add_core_tools(server, one)
    add_route_tool(server, one)
    return server


def add_core_tools(server: GuardedServer, one: Butler) -> None:
    """All of them but `route.execute`, which is not the same work everywhere."""
    add_status_tool(server, one)
    add_message_tools(server, one, (Notify, NotifyStatus, Revise, Recall, Remind))
    add_state_tools(server, one)
    add_session_tools(server, one)
    server.point_elsewhere(ELSEWHERE)


def add_message_tools(server: GuardedServer, one: Butler, acts: Sequence[type[Act[Any]]]) -> None:
    """They speak in the butler's name, so they are its own."""
    add_tools(server, acts, one, {"channels": channel_words(one.notifier.channels)})
    server.policy.allow({kind.declared.tool.name: butler(one.name) for kind in acts if kind.declared.tool})


def add_status_tool(server: MCPServer[Any], one: Butler) -> None:
    async def status() -> dict[str, Any]:
        """Who this butler is, whether it and its modules are well, and what it does and has done by the clock."""
        return one.status() | await by_the_clock(one)

    server.add_tool(status, annotations=_READS)
