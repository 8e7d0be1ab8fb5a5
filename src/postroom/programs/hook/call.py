"""What a client says to its hook: the same few things, however each client spells them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Moment(StrEnum):
    """What the client is about to do, or did."""

    PERMISSION = "permission"  # its own dialog is about to be shown
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    NOTICE = "notice"
    PROMPT = "prompt"  # the person typed something
    TURN_OVER = "turn_over"
    SESSION_OVER = "session_over"


_MOMENTS: Final = {
    "PermissionRequest": Moment.PERMISSION,
    "PreToolUse": Moment.BEFORE_TOOL,
    "BeforeTool": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.AFTER_TOOL,
    "PostToolUseFailure": Moment.AFTER_TOOL,
    "PermissionDenied": Moment.AFTER_TOOL,
    "AfterTool": Moment.AFTER_TOOL,
    "Notification": Moment.NOTICE,
    "UserPromptSubmit": Moment.PROMPT,
    "BeforeAgent": Moment.PROMPT,
    "Stop": Moment.TURN_OVER,
    "AfterAgent": Moment.TURN_OVER,
    "SessionEnd": Moment.SESSION_OVER,
}
_CODEX_DONE: Final = "agent-turn-complete"
_WAKE_IT: Final = frozenset({"subagent", "teammate", "workflow"})  # with their results the agent begins another turn


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    client: str
    event: str
    moment: Moment
    session: str
    cwd: str = ""
    tool: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str = ""
    transcript: str = ""
    agent: str = ""
    prompt: str = ""
    suggestions: tuple[dict[str, Any], ...] = ()
    notice: str = ""
    message: str = ""
    background: tuple[str, ...] = ()  # the kinds of what still runs when a turn is over

    @property
    def will_go_on(self) -> bool:
        """The turn is over, the work is not: another turn follows by itself."""
        return not _WAKE_IT.isdisjoint(self.background)

    @property
    def session_digest(self) -> str:
        return session_digest(self.client, self.session)

    @property
    def request_digest(self) -> str:
        """Of what is asked: the same call before and after the tool has the same."""
        return _digest(self.session, self.agent, self.tool, self._kept_input())[:32]

    def _kept_input(self) -> Any:
        """Of tools that only ask, the client puts the answers into the input later."""
        match self.tool:
            case "AskUserQuestion":
                return self.tool_input.get("questions")
            case "ExitPlanMode":
                return None
            case _ if self.client == "codex":  # it describes a command when it asks, and not when it was run
                return {name: value for name, value in self.tool_input.items() if name != "description"}
            case _:
                return self.tool_input


def session_digest(client: str, session: str) -> str:
    return _digest(client, session)[:16]


def parse(client: str, text: str) -> HookCall | None:
    """None for what is no call of a hook that we know."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    if said.get("type") == _CODEX_DONE:
        return _codex_notify(client, said)
    event = said.get("hook_event_name")
    moment = _MOMENTS.get(event) if isinstance(event, str) else None
    session = _text(said, "session_id")
    if moment is None or not session:
        return None
    return HookCall(
        client=client,
        event=str(event),
        moment=moment,
        session=session,
        cwd=_text(said, "cwd"),
        tool=_text(said, "tool_name"),
        tool_input=said["tool_input"] if isinstance(said.get("tool_input"), dict) else {},
        tool_use_id=_text(said, "tool_use_id"),
        transcript=_text(said, "transcript_path"),
        agent=_text(said, "agent_id"),
        prompt=_text(said, "prompt_id") or _text(said, "turn_id"),
        suggestions=_objects(said.get("permission_suggestions")),
        notice=_text(said, "notification_type"),
        message=_text(said, "message") or _text(said, "last_assistant_message") or _text(said, "prompt_response"),
        background=tuple(_text(one, "type") for one in _objects(said.get("background_tasks"))),
    )


def _codex_notify(client: str, said: dict[str, Any]) -> HookCall:
    """The older way: one JSON text as the last argument, when a turn is over."""
    return HookCall(
        client=client,
        event=_CODEX_DONE,
        moment=Moment.TURN_OVER,
        session=_text(said, "thread-id"),
        prompt=_text(said, "turn-id"),
        cwd=_text(said, "cwd"),
        message=_text(said, "last-assistant-message"),
    )


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _objects(value: Any) -> tuple[dict[str, Any], ...]:
    return tuple(one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _digest(*parts: Any) -> str:
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
