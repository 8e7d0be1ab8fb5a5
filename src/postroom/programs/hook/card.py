"""The cards of a hook: the words are the same for every way a coding agent asks; here is who asks, and from where."""

from __future__ import annotations

import socket
from pathlib import PurePath
from typing import Any, Final

from postroom.domain import agent_card
from postroom.domain.agent_card import PLAN, QUESTIONS, AgentWish, Reveal, TooLong, line
from postroom.programs.hook.call import HookCall

__all__ = ["PLAN", "QUESTIONS", "TITLES", "TooLong", "notice", "permission", "plan", "questions"]
TITLES: Final = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
_MOST_NOTICE: Final = 600


def permission(call: HookCall, reveal: Reveal) -> dict[str, Any]:
    return agent_card.permission(_wish(call, reveal), reveal)


def plan(call: HookCall, reveal: Reveal) -> dict[str, Any]:
    return agent_card.plan(_wish(call, reveal), reveal)


def questions(call: HookCall, reveal: Reveal) -> list[dict[str, Any]]:
    return agent_card.questions(_wish(call, reveal), reveal)


def notice(call: HookCall, reveal: Reveal) -> str:
    said = line(call.message, _MOST_NOTICE, reveal)
    return f"{_who(call, reveal)} {_state(call)}{': ' + said if said else '.'}"


def _state(call: HookCall) -> str:
    if call.notice:
        return "waits for you"
    return "has ended its turn, and something still runs in the background" if call.background else "is done"


def _wish(call: HookCall, reveal: Reveal) -> AgentWish:
    return AgentWish(
        who=_who(call, reveal),
        tool=call.tool,
        tool_input=call.tool_input,
        folder=call.cwd,
        lasting=call.suggestions if call.client == "claude" else (),
    )


def _who(call: HookCall, reveal: Reveal) -> str:
    folder = line(PurePath(call.cwd).name, 80, reveal)
    return f"{TITLES.get(call.client, call.client)}{' in ' + folder if folder else ''} on {socket.gethostname()}"
