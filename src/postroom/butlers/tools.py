"""The tools every butler has, and the server that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from postroom.butlers.acts import CORE_ACTS, Remind
from postroom.butlers.daemon import Butler
from postroom.butlers.routing import TakeRoute
from postroom.kernel.acts.declaration import Act
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, butler
from postroom.message.acts import Notify, NotifyStatus, Recall, Revise, channel_words

MESSAGE_ACTS: Final = (Notify, NotifyStatus, Revise, Recall, Remind)
CORE_TOOL_NAMES: Final = tuple(
    kind.declared.tool.name for kind in (*MESSAGE_ACTS, *CORE_ACTS, TakeRoute) if kind.declared.tool
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


def build_server(one: Butler) -> GuardedServer:
    server = GuardedServer(one.name, ToolPolicy({}, one.verifier), description=one.config.butler.description)
    add_message_tools(server, one, MESSAGE_ACTS)
    add_tools(server, (*CORE_ACTS, TakeRoute), one, butler=one.name)
    server.point_elsewhere(ELSEWHERE)
    return server


def add_message_tools(server: GuardedServer, one: Butler, acts: Sequence[type[Act[Any]]]) -> None:
    """They speak in the butler's name, so they are its own."""
    add_tools(server, acts, one, {"channels": channel_words(one.notifier.channels)})
    server.policy.allow({kind.declared.tool.name: butler(one.name) for kind in acts if kind.declared.tool})
