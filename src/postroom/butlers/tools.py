"""The tools every butler has, and the server that holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer

from postroom.butlers.acts import CORE_ACTS, Remind, accepted
from postroom.butlers.daemon import Butler
from postroom.butlers.model import Session
from postroom.butlers.wire import ROUTE_RESPONSE_V1, parse_route, route_error
from postroom.kernel.acts.declaration import Act
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import GuardedServer, Rule, ToolPolicy, butler, caller
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.principal import Principal
from postroom.message.acts import Notify, NotifyStatus, Recall, Revise, channel_words

# A route of the switchboard's becomes a session.


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
    add_message_tools(server, one, (Notify, NotifyStatus, Revise, Recall, Remind))
    add_tools(server, CORE_ACTS, one, butler=one.name)
    server.point_elsewhere(ELSEWHERE)


def add_message_tools(server: GuardedServer, one: Butler, acts: Sequence[type[Act[Any]]]) -> None:
    """They speak in the butler's name, so they are its own."""
    add_tools(server, acts, one, {"channels": channel_words(one.notifier.channels)})
    server.policy.allow({kind.declared.tool.name: butler(one.name) for kind in acts if kind.declared.tool})
