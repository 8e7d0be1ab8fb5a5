"""The life of a message: submitted, looked at, withdrawn, resolved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.answer_attempt import VerdictKind
from postroom.domain.errors import Code, Refused
from postroom.domain.ports import Clock
from postroom.domain.principal import Principal
from postroom.domain.question import Question
from postroom.doors.ma2h.envelope import Envelope, Verb
from postroom.doors.ma2h.message_shape import (
    PREFIX,
    envelope_of,
    kept_state,
    message_body,
    message_id,
    resolution_id,
    status_of,
)
from postroom.doors.ma2h.notice import DELIVERED, Notices, envelope_digest
from postroom.doors.ma2h.question import is_task, named_as_written, question_request
from postroom.doors.ma2h.refusals import NotTaken, invalid, not_found
from postroom.doors.ma2h.resolving import check_resolve, given_of
from postroom.work.questions.asking import Asking
from postroom.work.questions.questions import KeyReused
from postroom.work.questions.view import QuestionView

_CHANNEL: Final = "api"
_SETTLING_SECONDS: Final = 10.0  # how long the end of a question whose time is over may take


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenMessage:
    id: str
    status: str
    question: Question | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMessage:
    """`changed_at_us` is when its status became what it is; None for what never changes."""

    body: dict[str, Any]
    changed_at_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """`key` makes the ids of resolutions."""

    asking: Asking
    notices: Notices
    clock: Clock
    mint: Callable[[int], str]
    key: bytes

    async def submit(self, caller: Principal, envelope: Envelope) -> TakenMessage:
        now_us = self.clock.now_us()
        if envelope.verb is Verb.NOTIFY:
            name = await self.notices.submit(caller, envelope, self.mint(now_us), now_us)
            return TakenMessage(id=name, status=DELIVERED)
        key = f"ma2h:{envelope_digest(envelope, '')}"
        request = question_request(envelope, key, kept_state(envelope), now_us)
        try:
            with named_as_written(envelope.verb):
                view = await self.asking.ask(caller, request, wait_seconds=0)
        except KeyReused:
            raise _conflict() from None
        known = envelope_of(view.question)
        if known is None or known.compared != envelope.compared:
            raise _conflict()
        status = status_of(view.question, envelope.verb)
        return TakenMessage(id=message_id(view.question), status=status, question=view.question)

    async def look(self, caller: Principal, identifier: str, wait_seconds: float) -> SeenMessage:
        """Of the one who submitted it; to all others it does not exist."""
        if (notice := await self.notices.find(caller, identifier)) is not None:
            return SeenMessage(body=notice)
        ask_id = _ask_id(identifier)
        envelope = _own(await self._read(caller, ask_id))
        question = (await self.asking.wait(caller, ask_id=ask_id, wait_seconds=wait_seconds)).question
        changed_us = question.created_at_us if question.is_open else question.ended_at_us
        return SeenMessage(body=message_body(question, envelope, self.key), changed_at_us=changed_us)

    async def cancel(self, caller: Principal, identifier: str) -> dict[str, Any]:
        if await self.notices.find(caller, identifier) is not None:
            raise NotTaken("validation_error", "only an ask can be cancelled; a notify is delivered at once")
        ask_id = _ask_id(identifier)
        question = await self._read(caller, ask_id)
        if _own(question).verb is not Verb.ASK:
            raise NotTaken("validation_error", "only an ask can be cancelled; a task is the person's to end")
        question = await self._withdrawn(caller, question)
        status = status_of(question, Verb.ASK)
        if status != "cancelled":
            raise _over(question, status)
        return {"id": identifier, "status": status}

    async def resolve(self, person: Principal, identifier: str, body: object, event_id: str) -> dict[str, Any]:
        """By one of those who were asked, under their own token; who they are is never in the body."""
        said, ask_id = check_resolve(body), _ask_id(identifier)
        asked = await self._read(person, ask_id)
        given = given_of(asked.wording, said)
        heard = await self.asking.answer(person, ask_id, given, channel=_CHANNEL, event_id=event_id)
        question, verdict = heard.view.question, heard.verdict
        status = status_of(question, Verb.TASK if is_task(question.wording) else Verb.ASK)
        match verdict.kind:
            case VerdictKind.ACCEPTED:
                return {"id": identifier, "status": status, "resolution_id": resolution_id(self.key, question)}
            case VerdictKind.LATE | VerdictKind.LOST_RACE:
                raise _over(question, status)
            case VerdictKind.UNAUTHORISED:
                raise NotTaken("not_authorized", verdict.reason)
            case VerdictKind.INVALID | VerdictKind.NOT_YET:
                raise invalid("value" if "value" in said else "resolution", verdict.reason)

    async def _withdrawn(self, caller: Principal, question: Question) -> Question:
        """One whose time is over has expired, even when its end is still to be written down."""
        if question.is_open and self.clock.now_us() > question.expires_at_us:
            return (await self.asking.wait(caller, ask_id=question.id, wait_seconds=_SETTLING_SECONDS)).question
        return (await self.asking.cancel(caller, question.id)).question

    async def _read(self, caller: Principal, ask_id: str) -> Question:
        return (await _found(self.asking, caller, ask_id)).question


async def _found(asking: Asking, caller: Principal, ask_id: str) -> QuestionView:
    try:
        return await asking.read(caller, ask_id)
    except Refused as error:
        raise not_found() if error.code is Code.NOT_FOUND else error from None


def _own(question: Question) -> Envelope:
    envelope = envelope_of(question)
    if envelope is None:
        raise not_found()
    return envelope


def _ask_id(identifier: str) -> str:
    if not identifier.startswith(PREFIX):
        raise not_found()
    return identifier.removeprefix(PREFIX)


def _conflict() -> NotTaken:
    return NotTaken("idempotency_conflict", "idempotency_key: was already used for another message")


def _over(question: Question, status: str) -> NotTaken:
    """With the real outcome, so that the loser of a race reads it here."""
    told = "its time is over; how it ended is being written down" if question.is_open else f"it is {status} already"
    more = {"id": message_id(question), "status": status, **({} if question.is_open else {"resolution": status})}
    return NotTaken("already_terminal", told, more=more)
