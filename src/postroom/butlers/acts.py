"""What a butler does for itself: reminders, sessions of its model, and what it keeps between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from postroom.butlers.model import Session
from postroom.kernel.acts.declaration import READS, Act, Answer, Call, Hints, Tool, act, said
from postroom.kernel.acts.reading import Text, Whatever, judged, needed
from postroom.kernel.values.errors import FieldError, PostroomError, ValidationError, error_answer
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Kind
from postroom.message.acts import MessageAct, Notify, OpenAnswer, ReminderAnswer

if TYPE_CHECKING:
    from postroom.butlers.daemon import Butler

    Own = Call[Butler]

_TEXT: Final = {"type": "string"}
_SAME: Final = Notify.model_fields
"""What a reminder says is said as in a message sent at once."""


def _as_in_notify(name: str) -> Any:
    about = _SAME[name]
    schema = about.json_schema_extra if isinstance(about.json_schema_extra, dict) else {}
    return judged(about.description or "", **schema)


_OWN: Final = frozenset({Kind.OPERATOR, Kind.ITSELF})


@act(by=_OWN, tool=Tool("remind", Hints(destroys=True, open_world=True)))
class Remind(MessageAct[ReminderAnswer]):
    """
    Deliver a message after `delay_minutes` or at `remind_at`, even if this session, the model or the household is
    restarted meanwhile.
    """

    message: Whatever = _as_in_notify("message")
    channel: Whatever = _as_in_notify("channel")
    delay_minutes: Whatever = judged("From now.", type="number", exclusiveMinimum=0)
    remind_at: Whatever = judged("RFC 3339 with an offset.", **_TEXT)
    recipient: Whatever = _as_in_notify("recipient")
    subject: Whatever = _as_in_notify("subject")
    request_context: Whatever = judged("As in notify; with it, it is a reply.", type=["object", "string"])
    format: Whatever = judged("As in notify.", enum=["plain", "markdown"], **_TEXT)

    async def do(self, call: Own) -> Any:
        return await call.work.remind(self)


# Answers: instead of each an error may come, so no key is ever required.


class StatusAnswer(OpenAnswer, total=False):
    name: str
    health: str
    modules: dict[str, Any]
    schedules: list[dict[str, Any]]
    appointments: list[dict[str, Any]]


class StartedAnswer(OpenAnswer, total=False):
    status: str
    session_id: str


class SessionAnswer(OpenAnswer, total=False):
    session_id: str
    status: str
    prompt: str
    transcript: dict[str, Any] | None
    error: Any


class SessionPage(OpenAnswer, total=False):
    sessions: list[dict[str, Any]]
    count: int


class StateAnswer(OpenAnswer, total=False):
    status: str
    key: str
    found: bool
    deleted: bool
    value: Any
    version: int
    error: Any


class KeysAnswer(OpenAnswer, total=False):
    keys: list[str]
    count: int


def accepted(session: Session) -> Document:
    """The answer of `trigger`: the request is stored, and this is where to ask about it."""
    return {"status": "accepted", "session_id": session.id, "session_status": str(session.status)}


def summary(session: Session) -> Document:
    """One line of `sessions_list`; what was said is only in the details."""
    shown: Document = {
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


def details(session: Session) -> Document:
    """`sessions_get`."""
    return summary(session) | {
        "prompt": session.prompt,
        "request_context": session.request_context and dict(session.request_context),
        "crashes": session.crashes,
        "depth": session.depth,
        "transcript": session.transcript and dict(session.transcript),
    }


# What it will do and has done by the clock: schedules and reminders.

_MOST_APPOINTMENTS: Final = 50


async def by_the_clock(butler: Butler) -> Document:
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


class _Own(Act[Answer]):
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return error_answer(error)


@act(by=_OWN, tool=Tool("status", READS, answers=("health", "modules", "schedules", "appointments")))
class ShowButler(_Own[StatusAnswer]):
    """Who this butler is, whether it and its modules are well, and what it does and has done by the clock."""

    async def do(self, call: Own) -> Any:
        return call.work.status() | await by_the_clock(call.work)


# Sessions: give the butler's model something to do, and see what it did.

SessionId = Annotated[str, Field(max_length=64)]
_Limit = Annotated[int, Field(ge=1, le=500)]


@act(by=_OWN, tool=Tool("trigger"))
class StartSession(_Own[StartedAnswer]):
    """Start a session with this prompt. Answers `accepted` once it is stored; look it up with sessions_get."""

    prompt: Annotated[Text, Field(max_length=100_000)] = said("What the model is to do.", ...)

    async def do(self, call: Own) -> Any:
        return accepted(await call.work.model().submit(self.prompt, trigger="trigger", caller=call.caller))


@act(by=_OWN, tool=Tool("sessions_list", READS, answers=("sessions",)))
class ListSessions(_Own[SessionPage]):
    """The latest sessions, newest first."""

    limit: _Limit = said("At most so many.", 50)
    before: SessionId | None = said("Older than this session.")

    async def do(self, call: Own) -> Any:
        kept = call.work.sessions
        found = await kept.newest(limit=self.limit, before=self.before) if kept else ()
        return {"sessions": [summary(one) for one in found], "count": len(found)}


class _OfSession(_Own[SessionAnswer]):
    session_id: SessionId = said("From sessions_list or trigger.", ...)

    def shown(self, found: Session | None, show: Callable[[Session], Document]) -> Any:
        if found is None:
            raise ValidationError.of([FieldError("session_id", "names no session here", "unknown_session")])
        return show(found)


@act(by=_OWN, tool=Tool("sessions_get", READS, answers=("status", "prompt", "transcript")))
class GetSession(_OfSession):
    """One session with its transcript."""

    async def do(self, call: Own) -> Any:
        kept = call.work.sessions
        return self.shown(await kept.get(self.session_id) if kept else None, details)


@act(by=_OWN, tool=Tool("sessions_stop", Hints(destroys=True, repeats=True), answers=("status",)))
class StopSession(_OfSession):
    """End a session that waits or runs; one that has ended stays as it ended."""

    async def do(self, call: Own) -> Any:
        kept = call.work.sessions
        return self.shown(await kept.halt(self.session_id) if kept else None, summary)


# State: what a butler wants to remember between sessions.

_MAX_VALUE_BYTES: Final = 64 * 1024
_KEY: Final = "Its name."
StateKey = Annotated[str, Field(min_length=1, max_length=200)]


@act(by=_OWN, tool=Tool("state_get", READS, answers=("found", "value", "version")))
class GetState(_Own[StateAnswer]):
    """What is kept under a key: its value and version, or found=false."""

    key: StateKey = said(_KEY, ...)

    async def do(self, call: Own) -> Any:
        found = await call.work.state.get(self.key)
        if found is None:
            return {"found": False, "key": self.key}
        return {"found": True, "key": self.key, "value": found[0], "version": found[1]}


@act(by=_OWN, tool=Tool("state_set", answers=("status", "version")))
class SetState(_Own[StateAnswer]):
    """Keep a JSON value under a key."""

    key: StateKey = said(_KEY, ...)
    value: Whatever = needed("Any JSON.")
    expected_version: int | None = said("Only if it is still of this version; 0: not there yet.")

    null_counts = ("value",)

    async def do(self, call: Own) -> Any:
        if len(json.dumps(self.value)) > _MAX_VALUE_BYTES:
            return {"status": "error", "error": f"the value must not exceed {_MAX_VALUE_BYTES} bytes of JSON"}
        kept, now_us = call.work.state, call.work.clock.now_us()
        version = await kept.set(self.key, self.value, expected_version=self.expected_version, now_us=now_us)
        if version is None:
            return {"status": "conflict", "key": self.key, "error": "the value was changed by somebody else"}
        return {"status": "ok", "key": self.key, "version": version}


@act(by=_OWN, tool=Tool("state_delete", Hints(destroys=True, repeats=True), answers=("deleted",)))
class DeleteState(_Own[StateAnswer]):
    """Forget a key."""

    key: StateKey = said(_KEY, ...)

    async def do(self, call: Own) -> Any:
        return {"status": "ok", "key": self.key, "deleted": await call.work.state.delete(self.key)}


@act(by=_OWN, tool=Tool("state_list", READS, answers=("keys",)))
class ListState(_Own[KeysAnswer]):
    """The keys that are kept."""

    prefix: Annotated[str, Field(max_length=200)] = said("With which they begin.", "")
    limit: _Limit = said("At most so many.", 100)

    async def do(self, call: Own) -> Any:
        keys = await call.work.state.keys(self.prefix, self.limit)
        return {"keys": keys, "count": len(keys)}


CORE_ACTS: Final = (
    ShowButler,
    StartSession,
    ListSessions,
    GetSession,
    StopSession,
    GetState,
    SetState,
    DeleteState,
    ListState,
)
