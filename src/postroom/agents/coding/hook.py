"""One call of a coding agent's hook, from what the client says to what it hears; in every doubt it hears nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any, Final

from postroom.agents.coding import card as agent_card
from postroom.agents.coding.card import (
    PLAN,
    QUESTIONS,
    AgentAsk,
    AgentCard,
    AgentWish,
    JsonObject,
    Reveal,
    TooLong,
    answers_of,
    line,
    objects,
    permission_of,
)
from postroom.agents.coding.phone import LONGEST_DEADLINE, PersonAsker, Silent, Stopped
from postroom.settings.connections import NoHousehold

# What a client says: the same few things, however each client spells them.


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
    tool_input: JsonObject = field(default_factory=dict)
    tool_use_id: str = ""
    transcript: str = ""
    agent: str = ""
    prompt: str = ""
    suggestions: tuple[JsonObject, ...] = ()
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
        suggestions=objects(said.get("permission_suggestions")),
        notice=_text(said, "notification_type"),
        message=_text(said, "message") or _text(said, "last_assistant_message") or _text(said, "prompt_response"),
        background=tuple(_text(one, "type") for one in objects(said.get("background_tasks"))),
    )


def _codex_notify(client: str, said: JsonObject) -> HookCall:
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


def _text(said: JsonObject, name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _digest(*parts: Any) -> str:
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


# Its cards: the words are the same for every way a coding agent asks; here is who asks, and from where.

TITLES: Final = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
_MOST_NOTICE: Final = 600


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


# Which cards of a session are open, noted in files: a hook that has nothing to close asks no one.


class OpenCards:
    """`<home>/hooks/<session>/<what is asked>` holds the ids of its questions."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._file = folder / name

    @classmethod
    def of(cls, home: Path, call: HookCall) -> OpenCards:
        return cls(home / "hooks" / f"{call.client}-{call.session_digest}", call.request_digest)

    @classmethod
    def deferred(cls, home: Path, client: str, session: str, tool_use_id: str) -> OpenCards:
        """In a folder of their own: the client's program ends while they are open, and no end closes them."""
        name = hashlib.sha256(tool_use_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return cls(home / "hooks" / f"{client}-{session_digest(client, session)}-deferred", name)

    def noted(self) -> list[str]:
        try:
            return self._file.read_text(encoding="utf-8").split()
        except OSError:
            return []

    def note(self, ask_ids: list[str]) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file.write_text("\n".join(ask_ids), encoding="utf-8")

    def forget(self) -> None:
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
            self._folder.rmdir()  # only when it is empty

    def taken(self) -> list[str]:
        """Of this request; they are nobody else's to close any more."""
        found = _taken(self._file)
        self.forget()
        return found

    def all_taken(self) -> list[str]:
        """Of the whole session."""
        try:
            files = list(self._folder.iterdir())
        except OSError:
            return []
        found = [ask_id for file in files for ask_id in _taken(file)]
        with contextlib.suppress(OSError):
            self._folder.rmdir()
        return found


def _taken(file: Path) -> list[str]:
    try:
        found = file.read_text(encoding="utf-8").split()
        file.unlink(missing_ok=True)
    except OSError:
        return []
    return found


# An answer in the words of each client, with exactly the fields it takes: one too many, and it ignores all of it.

DEFER: Final = "defer"


def allowed(call: HookCall, *, updated_input: JsonObject | None = None, for_session: bool = False) -> JsonObject:
    if call.client == "gemini":
        return {"decision": "allow"}
    if call.moment is Moment.BEFORE_TOOL:
        return _before_tool(call, "allow", None, updated_input)
    decision: JsonObject = {"behavior": "allow"}
    if updated_input is not None and call.client == "claude":
        decision["updatedInput"] = updated_input
    if for_session and call.client == "claude":
        decision["updatedPermissions"] = [{**one, "destination": "session"} for one in call.suggestions]
    return _specific(call, {"decision": decision})


def denied(call: HookCall, why: str) -> JsonObject:
    if call.client == "gemini":
        return {"decision": "deny", "reason": why}
    if call.moment is Moment.BEFORE_TOOL:
        return _before_tool(call, "deny", why, None)
    return _specific(call, {"decision": {"behavior": "deny", "message": why}})


def deferred(call: HookCall) -> JsonObject:
    return _before_tool(call, DEFER, None, None)


def written(answer: JsonObject | None) -> str:
    """Nothing at all is what makes a client go on as if there were no hook."""
    return "" if answer is None else json.dumps(answer, ensure_ascii=False) + "\n"


def _before_tool(call: HookCall, decision: str, why: str | None, updated_input: JsonObject | None) -> JsonObject:
    said: JsonObject = {"permissionDecision": decision}
    if why is not None:
        said["permissionDecisionReason"] = why
    if updated_input is not None:
        said["updatedInput"] = updated_input
    return _specific(call, said)


def _specific(call: HookCall, said: JsonObject) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": call.event, **said}}


# Whether a tool call is the only one of its message: Claude Code resumes one deferred call and forgets the others.

_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.1


def is_alone(
    transcript: Path,
    tool_use_id: str,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """False, too, when the message does not appear in time: only a call that is seen to be alone may be deferred."""
    until = now() + _SECONDS
    while not (beside := _beside(transcript, tool_use_id)):
        if now() >= until:
            return False
        pause(_PAUSE_SECONDS)
    pause(_PAUSE_SECONDS)  # its parts are lines of their own
    return _beside(transcript, tool_use_id) == beside == {tool_use_id}


def _beside(transcript: Path, tool_use_id: str) -> set[str]:
    """The calls of the message that holds this one; it is written when the message is complete."""
    messages: dict[str, set[str]] = {}
    for message in _messages(transcript):
        calls = {part["id"] for part in message["content"] if _is_call(part)}
        messages.setdefault(str(message.get("id")), set()).update(calls)
    return next((calls for calls in messages.values() if tool_use_id in calls), set())


def _messages(transcript: Path) -> list[JsonObject]:
    try:
        lines = transcript.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = (_message(line) for line in lines if '"tool_use"' in line)
    return [one for one in found if one is not None]


def _message(line: str) -> JsonObject | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    message = said.get("message") if isinstance(said, dict) else None
    return message if isinstance(message, dict) and isinstance(message.get("content"), list) else None


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use" and isinstance(part.get("id"), str)


# The call.

AGENT_WAIT_SECONDS: Final = 60.0  # a helper in the background shows its dialog only when its hooks have ended
_AT_TERMINAL: Final = "answered at the terminal"
_IN_VAIN: Final = "not answered in time; the terminal asks now"
_ENDED: Final = "the program that asked has ended"

Decision = JsonObject | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """`finished`: the end of every turn is worth a message. `defer`: do not wait, the agent is resumed later."""

    home: Path
    phone: PersonAsker
    reveal: Callable[[str], str]
    finished: bool = False
    defer: bool = False

    def heard(self, client: str, text: str) -> str:
        """What to print. Raises nothing that the client could mistake for an answer."""
        call = parse(client, text)
        if call is None:
            return ""
        try:
            return written(self._decided(call))
        except (NoHousehold, TooLong):
            return ""

    def _decided(self, call: HookCall) -> Decision:
        match call.moment:
            case Moment.PERMISSION | Moment.BEFORE_TOOL:
                return self._asked(call)
            case Moment.AFTER_TOOL:
                self._close(OpenCards.of(self.home, call).taken())
            case Moment.NOTICE:
                self._tell(call)
            case Moment.PROMPT | Moment.SESSION_OVER:
                self._close(OpenCards.of(self.home, call).all_taken())
            case Moment.TURN_OVER:
                self._close(OpenCards.of(self.home, call).all_taken())
                is_wished = self.finished or not call.event[0].isupper()  # `notify` of Codex is set up for nothing else
                if is_wished and not call.will_go_on:
                    self._tell(call)
        return None

    def _close(self, ask_ids: list[str]) -> None:
        for ask_id in ask_ids:
            self.phone.cancel(ask_id, _AT_TERMINAL)

    def _tell(self, call: HookCall) -> None:
        self.phone.tell(notice(call, self.reveal))

    def _asked(self, call: HookCall) -> Decision:
        wish = _wish(call, self.reveal)
        match call.tool:
            case tool if tool == QUESTIONS and call.client == "claude":
                cards = agent_card.questions(wish, self.reveal)
                return self._questions_decided(call, self._answers(call, cards))
            case tool if tool == PLAN and call.client == "claude":
                return self._decision(call, self._answers(call, [agent_card.plan(wish, self.reveal)]), call.tool_input)
            case _:
                return self._decision(call, self._answers(call, [agent_card.permission(wish, self.reveal)]), None)

    def _answers(self, call: HookCall, bodies: list[AgentCard]) -> list[AgentAsk] | None:
        """Of all questions; None when one of them has no answer of a person. Empty while they may wait."""
        later = self._later(call)
        return self._waiting(call, bodies) if later is None else self._presently(call, bodies, later)

    def _waiting(self, call: HookCall, bodies: list[AgentCard]) -> list[AgentAsk] | None:
        cards, phone = OpenCards.of(self.home, call), self.phone
        if call.agent:
            phone = replace(phone, wait_seconds=min(phone.wait_seconds, AGENT_WAIT_SECONDS))
        asked: list[AgentAsk] = []
        try:
            is_whole = self._put(phone, bodies, f"{call.prompt}:{call.request_digest}", call, cards, asked)
            if is_whole:
                answers = self._waited_for(phone, asked)
                cards.forget()
                return answers
        except Silent:
            return None  # what is noted closes the cards later, when the household is back
        except (Stopped, NoHousehold, KeyboardInterrupt):
            pass
        cards.forget()
        self._give_up(asked, _ENDED)
        return None

    def _presently(self, call: HookCall, bodies: list[AgentCard], cards: OpenCards) -> list[AgentAsk] | None:
        """As they are now. What was deferred once stays so while no household can say more."""
        phone = replace(self.phone, wait_seconds=0.0, deadline_seconds=LONGEST_DEADLINE)
        was_deferred, asked = bool(cards.noted()), list[AgentAsk]()
        try:
            is_whole = self._put(phone, bodies, call.tool_use_id, call, cards, asked)
            over = [phone.until_over(one.ask_id) for one in asked]
        except NoHousehold:
            return [] if was_deferred else None
        if is_whole and not all(over):
            return []
        cards.forget()
        self._give_up([] if is_whole else asked, _ENDED)
        answers = [one for one in over if one is not None and one.is_answered]
        return answers if is_whole and len(answers) == len(over) else None

    def _put(
        self,
        phone: PersonAsker,
        bodies: list[AgentCard],
        what: str,
        call: HookCall,
        cards: OpenCards,
        asked: list[AgentAsk],
    ) -> bool:
        """Whether all of them are asked; the same call that comes once more meets the same questions."""
        for place, body in enumerate(bodies):
            key = f"hook:{call.client}:{call.session_digest}:{what}:{place}"[:180]
            one = phone.ask(body, key, again=what != call.tool_use_id)
            if one is None:
                return False
            asked.append(one)
            cards.note([known.ask_id for known in asked])
        return bool(asked)

    def _later(self, call: HookCall) -> OpenCards | None:
        """Where a deferred call is noted; None for one that has to be waited for."""
        if not self.defer or call.moment is not Moment.BEFORE_TOOL or not call.tool_use_id:
            return None
        cards = OpenCards.deferred(self.home, call.client, call.session, call.tool_use_id)
        return cards if cards.noted() or is_alone(Path(call.transcript), call.tool_use_id) else None

    def _waited_for(self, phone: PersonAsker, asked: list[AgentAsk]) -> list[AgentAsk] | None:
        """One time for all of them: a client gives its hook no more."""
        over, until = [], phone.now() + phone.wait_seconds
        for one in asked:
            ended = phone.until_over(one.ask_id, until) or phone.cancel(one.ask_id, _IN_VAIN)
            if ended is None or not ended.is_answered:
                self._give_up(asked, _IN_VAIN)
                return None
            over.append(ended)
        return over

    def _give_up(self, asked: list[AgentAsk], reason: str) -> None:
        for one in asked:
            if self.phone.cancel(one.ask_id, reason) is None:
                return  # nobody is there to be told

    def _decision(self, call: HookCall, answers: list[AgentAsk] | None, updated_input: JsonObject | None) -> Decision:
        if answers is None:
            return None
        if not answers:
            return deferred(call)
        said = permission_of(answers[0])
        if said is None:
            return None
        if not said.allowed:
            return denied(call, said.why)
        changed = None if said.for_session else updated_input
        return allowed(call, for_session=said.for_session, updated_input=changed)

    def _questions_decided(self, call: HookCall, answers: list[AgentAsk] | None) -> Decision:
        """Never an empty answer: the model would take it for the person's."""
        if answers is None:
            return None
        if not answers:
            return deferred(call)
        words = answers_of(call.tool_input, answers)
        return None if words is None else allowed(call, updated_input={**call.tool_input, "answers": words})
