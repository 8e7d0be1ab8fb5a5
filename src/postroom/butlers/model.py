"""A butler's words: sessions of its model, the programs that run it, appointments, and its place in the household."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from postroom.kernel.values.errors import ErrorClass
from postroom.kernel.values.fields import Document, storable
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import SessionId
from postroom.message.wire import NotifyRequestContextInput

# A session of the model, and the one table of moves it may make.

MAX_PROMPT_CHARACTERS: Final = 100_000
MAX_CRASHES: Final = 1  # a session that went down with its household is begun once more, and no further
MAX_DEPTH: Final = 3  # a session may start another, which may start another


class SessionStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"


class SessionEnd(StrEnum):
    """Why it ended, where others act on that; everybody else reads its message."""

    STOPPED = "stopped"
    NO_MODEL = "no_model"  # none is set up for the butler
    SET_ASIDE = "set_aside"  # its row cannot be read


class SessionEvent(StrEnum):
    CLAIM = "claim"
    FINISH = "finish"
    FAIL = "fail"
    TIME_OUT = "time_out"
    RELEASE = "release"  # the household stops in good order; this is nobody's fault
    RECOVER = "recover"  # the household died during the session; begin again
    LOSE = "lose"  # it died during the session again
    STOP = "stop"  # the person for whom it is does not want it any more


TRANSITIONS: Final[dict[tuple[SessionStatus, SessionEvent], SessionStatus]] = {
    (SessionStatus.QUEUED, SessionEvent.CLAIM): SessionStatus.RUNNING,
    (SessionStatus.QUEUED, SessionEvent.STOP): SessionStatus.FAILED,
    (SessionStatus.RUNNING, SessionEvent.FINISH): SessionStatus.DONE,
    (SessionStatus.RUNNING, SessionEvent.FAIL): SessionStatus.FAILED,
    (SessionStatus.RUNNING, SessionEvent.TIME_OUT): SessionStatus.TIMED_OUT,
    (SessionStatus.RUNNING, SessionEvent.RELEASE): SessionStatus.QUEUED,
    (SessionStatus.RUNNING, SessionEvent.RECOVER): SessionStatus.QUEUED,
    (SessionStatus.RUNNING, SessionEvent.LOSE): SessionStatus.LOST,
    (SessionStatus.RUNNING, SessionEvent.STOP): SessionStatus.FAILED,
}

TERMINAL: Final = frozenset(SessionStatus) - {before for before, _ in TRANSITIONS}


def after(status: SessionStatus, event: SessionEvent) -> SessionStatus:
    """Raises KeyError on a move that is not in the table: that is a bug, not an outcome."""
    return TRANSITIONS[status, event]


def after_crash(crashes: int) -> SessionEvent:
    """What becomes of a session found running by a household that has just started."""
    return SessionEvent.RECOVER if crashes < MAX_CRASHES else SessionEvent.LOSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """
    One run of the model, as stored; new, it waits in the queue.

    `request_key` makes a repeated request the same session. `request_context` is the routing lineage as it came;
    `depth` counts the sessions this one was started from. `attempt` is also the fence: an outcome of an earlier
    attempt changes nothing.
    """

    id: SessionId
    butler: str
    runtime: str
    trigger_source: str
    caller: str
    prompt: str = field(repr=False)
    created_at_us: int
    request_key: str | None = None
    request_id: str | None = None
    request_context: Mapping[str, Any] | None = field(default=None, repr=False)
    depth: int = 0
    status: SessionStatus = SessionStatus.QUEUED
    attempt: int = 0
    crashes: int = 0
    started_at_us: int | None = None
    finished_at_us: int | None = None
    error_class: str | None = None
    error_message: str | None = None
    end_code: SessionEnd | None = None
    transcript: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def is_stopped(self) -> bool:
        return self.end_code is SessionEnd.STOPPED

    @property
    def tokens(self) -> int:
        """What its model read and wrote, as far as its program said."""
        usage = (self.transcript or {}).get("usage")
        counts = usage.values() if isinstance(usage, Mapping) else ()
        return sum(one for one in counts if isinstance(one, int))

    @property
    def last_words(self) -> str:
        return str((self.transcript or {}).get("text") or "").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """How a session ended; `transcript` is already bounded."""

    event: SessionEvent
    transcript: Mapping[str, Any] = field(repr=False)
    error_class: ErrorClass | None = None
    error_message: str | None = None
    end_code: SessionEnd | None = None


STOPPED: Final = SessionOutcome(
    event=SessionEvent.STOP, transcript={}, error_message="it was stopped", end_code=SessionEnd.STOPPED
)

INTERRUPTED: Final = SessionOutcome(
    event=SessionEvent.FAIL,
    transcript={},
    error_class=ErrorClass.INTERNAL,
    error_message="the household went down during this session, which had answered and is not begun again",
)


def notify_context(session: Session, *, intent: object) -> Document | None:
    """
    The request_context that a notify in this session has when it names none.

    A routed session answers the request it was routed for. Any other session
    stands for itself, for plain sends only, so that a session which is begun
    again after a crash does not send the same message twice.
    """
    if session.request_context is not None:
        known = NotifyRequestContextInput.__annotations__
        return {name: value for name, value in session.request_context.items() if name in known and value is not None}
    if intent not in (None, "send"):
        return None
    return {
        "request_id": session.id,
        "source_channel": "mcp",
        "source_endpoint_identity": f"butler:{session.butler}",
        "source_sender_identity": session.caller,
    }


# What the model did in it, whichever program ran it.

_MAX_CALLS: Final = 100
_MAX_TEXT_CHARACTERS: Final = 16_000
_MAX_ARGUMENT_CHARACTERS: Final = 2_000
MAX_ERROR_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """`ok` says that the call reached the tool and came back, not that the tool agreed."""

    tool: str
    arguments: str = field(repr=False)
    ok: bool
    answer: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """
    Read from what the program printed; its exit code says too little.

    `finished` means that the program itself declared the turn complete, and
    `connected` is None when it does not say whether it reached our server.
    """

    finished: bool
    text: str = field(default="", repr=False)
    calls: Sequence[ToolCall] = ()
    error: str | None = None
    connected: bool | None = None
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def failure(self) -> str | None:
        """Why the session must not be called done."""
        if self.connected is False:
            return "the model could not reach the butler's own server"
        if self.error is not None:
            return self.error
        if not self.finished:
            return "the program ended before the model had finished"
        if self.calls and not any(call.ok for call in self.calls):
            return "none of the model's tool calls went through"
        return None


def document(transcript: Transcript) -> Document:
    """For the record; bounded, whatever a model may print."""
    return {
        "text": cut(transcript.text, _MAX_TEXT_CHARACTERS),
        "tool_calls": [
            {"tool": cut(call.tool, 200), "arguments": call.arguments, "ok": call.ok, "answer": call.answer}
            for call in transcript.calls[:_MAX_CALLS]
        ],
        "tool_call_count": len(transcript.calls),
        "usage": {"input_tokens": transcript.input_tokens, "output_tokens": transcript.output_tokens},
    }


def as_text(value: object) -> str:
    """An argument or an answer of a tool call, short enough to keep."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, _MAX_ARGUMENT_CHARACTERS)


def cut(text: str, most: int) -> str:
    """Words of a model, as they may be kept: whatever it printed, every store can hold them."""
    text = storable(text)
    return text if len(text) <= most else text[: most - 1] + "…"


# What every program that runs a model has in common.

TOKEN_VARIABLE: Final = "POSTROOM_SESSION_TOKEN"  # noqa: S105  # the name of a variable, not a secret
SESSION_VARIABLE: Final = "POSTROOM_SESSION_ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """
    One session, as a runtime needs to know it.

    `server` is the butler's name, under which the model sees the only MCP server
    it has. `credentials` are the variables the household declared for this
    program, and `arguments` what the butler's file adds to its command line.
    """

    session_id: str
    prompt: str = field(repr=False)
    server: str
    mcp_url: str
    token: str = field(repr=False)
    home: Path
    work: Path
    timeout_seconds: float
    model: str | None = None
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    arguments: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """
    A program to start: the prompt goes through `stdin` and the token through the
    environment, because a command line can be read by everybody on the machine.
    """

    argv: Sequence[str]
    stdin: str = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    work: Path
    files: Mapping[Path, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended, and what it printed."""

    exit_code: int | None
    timed_out: bool
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)


class Runtime(Protocol):
    """Both methods are pure; starting the program is `process.run`."""

    @property
    def name(self) -> str: ...

    @property
    def credential_names(self) -> tuple[str, ...]:
        """The variables this program may be given; it sees no others of ours."""
        ...

    def launch(self, order: Order) -> Launch: ...

    def read(self, output: bytes) -> Transcript: ...


def environment(order: Order, allowed: tuple[str, ...], **more: str) -> dict[str, str]:
    """Nothing is inherited; PATH is added by whoever starts the program."""
    return {
        **{name: value for name, value in order.credentials.items() if name in allowed},
        **more,
        "HOME": str(order.home),
        "TMPDIR": str(order.work),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        TOKEN_VARIABLE: order.token,
        SESSION_VARIABLE: order.session_id,
    }


# Something to do at a moment: a reminder, or one run of a schedule.

BROKEN: Final = "error: it cannot be carried out"  # the result of an appointment whose work makes no sense
SET_ASIDE: Final = "it cannot be read and was set aside"  # the row of an appointment or of a session


class AppointmentKind(StrEnum):
    REMINDER = "reminder"
    SCHEDULE = "schedule"


class AppointmentStatus(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Appointment:
    """`work` is JSON: {"notify": {...arguments}} or {"prompt": "..."}."""

    id: str
    butler: str
    kind: AppointmentKind
    name: str
    due_at_us: int
    work: str
    created_at_us: int
    status: AppointmentStatus = AppointmentStatus.WAITING
    tries: int = 0
    result: str | None = None


# Who is in the household, and whether work may be sent to them.

_DEFAULT_LIVENESS_TTL_SECONDS = 300.0


class Eligibility(StrEnum):
    ACTIVE = "active"
    STALE = "stale"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    name: str
    endpoint_url: str
    description: str
    modules: tuple[str, ...]
    last_seen_at_us: int
    liveness_ttl_seconds: float = _DEFAULT_LIVENESS_TTL_SECONDS
    quarantine_reason: str | None = None


def eligibility(one: Registration, now_us: int) -> tuple[Eligibility, str | None]:
    """Silence makes a butler stale, longer silence quarantines it; so does the operator."""
    if one.quarantine_reason is not None:
        return Eligibility.QUARANTINED, one.quarantine_reason
    silent_us = now_us - one.last_seen_at_us
    if silent_us > seconds(2 * one.liveness_ttl_seconds):
        return Eligibility.QUARANTINED, f"not heard of for {silent_us // 1_000_000} s"
    if silent_us > seconds(one.liveness_ttl_seconds):
        return Eligibility.STALE, f"not heard of for {silent_us // 1_000_000} s"
    return Eligibility.ACTIVE, None
