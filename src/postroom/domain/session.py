"""What a session of a butler's model is, and the one table of moves it may make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from postroom.domain.errors import ErrorClass
from postroom.domain.notify import NotifyRequestContextInput
from postroom.domain.session_id import SessionId

NO_MODEL: Final = "no model is set up"  # how the message of a session begins that could reach none
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
class NewSession:
    """
    A request to run the model once.

    `key` makes a repeated request the same session. `context` is the routing
    lineage as it came; `depth` counts the sessions this one was started from.
    """

    id: SessionId
    butler: str
    runtime: str
    trigger: str
    caller: str
    prompt: str = field(repr=False)
    created_us: int
    key: str | None = None
    request_id: str | None = None
    context: Mapping[str, Any] | None = field(default=None, repr=False)
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """As stored. `attempt` is also the fence: an outcome of an earlier attempt changes nothing."""

    id: SessionId
    butler: str
    runtime: str
    trigger: str
    caller: str
    prompt: str = field(repr=False)
    request_id: str | None
    context: Mapping[str, Any] | None = field(repr=False)
    depth: int
    status: SessionStatus
    attempt: int
    crashes: int
    created_us: int
    started_us: int | None
    finished_us: int | None
    error_class: str | None
    error_message: str | None
    transcript: Mapping[str, Any] | None = field(repr=False)

    @property
    def is_stopped(self) -> bool:
        return self.status is SessionStatus.FAILED and self.error_message == STOPPED.error_message

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


STOPPED: Final = SessionOutcome(event=SessionEvent.STOP, transcript={}, error_message="it was stopped")

INTERRUPTED: Final = SessionOutcome(
    event=SessionEvent.FAIL,
    transcript={},
    error_class=ErrorClass.INTERNAL,
    error_message="the household went down during this session, which had answered and is not begun again",
)


def notify_context(session: Session, *, intent: object) -> dict[str, Any] | None:
    """
    The request_context that a notify in this session has when it names none.

    A routed session answers the request it was routed for. Any other session
    stands for itself, for plain sends only, so that a session which is begun
    again after a crash does not send the same message twice.
    """
    if session.context is not None:
        known = NotifyRequestContextInput.__annotations__
        return {name: value for name, value in session.context.items() if name in known and value is not None}
    if intent not in (None, "send"):
        return None
    return {
        "request_id": session.id,
        "source_channel": "mcp",
        "source_endpoint_identity": f"butler:{session.butler}",
        "source_sender_identity": session.caller,
    }
