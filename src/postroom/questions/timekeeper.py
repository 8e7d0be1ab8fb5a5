"""What happens to questions, line by line, for those who may see them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.attention.attention import QuestionTimes
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Code, OverloadRejected, Refused, ValidationError
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import (
    HOUSEHOLD_OWNER,
    OPERATOR,
    OWNER,
    Principal,
    Role,
    person_id_of,
    user_address,
)
from postroom.kernel.webhooks import News, WebhookEvent
from postroom.message.attachment import file_shape
from postroom.message.channel import Outbound
from postroom.questions.hearing import Marks
from postroom.questions.model import (
    EVENT_OF_END,
    Presentation,
    PresentationStatus,
    Question,
    QuestionEvent,
    QuestionEventType,
    Resume,
)
from postroom.questions.questions import QUIET_SECONDS, Asking, Questions, for_others
from postroom.questions.rules.cards import CardMaker, request_id_of
from postroom.questions.rules.plan import QuestionStep
from postroom.questions.store.questions import EventFeed, Plans, QuestionRecord
from postroom.questions.waiting import QuestionView

_AT_A_TIME: Final = 100
_SHOWN: Final = frozenset(QuestionEventType) - {QuestionEventType.REMINDED, QuestionEventType.ESCALATED}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLine:
    """One event, and the question as it is when it is read; without a view it is none of the reader's."""

    position: int
    type: QuestionEventType
    view: QuestionView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFeed:
    asking: Asking
    lines: QuestionRecord

    async def newest(self) -> int:
        return await self.lines.last_position()

    async def since(self, reader: Principal, position: int) -> Sequence[FeedLine]:
        """In the order of commits; an agent reads of its own questions, a person of theirs, the owner of all."""
        only = str(reader) if person_id_of(reader) is None else None
        found = await self.lines.events(since=position, limit=_AT_A_TIME, asker=only)
        return [FeedLine(position=one.position, type=one.type, view=await self._view(reader, one)) for one in found]

    async def _view(self, reader: Principal, event: QuestionEvent) -> QuestionView | None:
        if event.type not in _SHOWN:
            return None
        try:
            return await self.asking.read(reader, event.question_id)
        except Refused as error:
            if error.code is not Code.NOT_FOUND:
                raise
            return None


# Follows the feed of questions from where it was, over every restart.


FOLLOW_SECONDS: Final = 2.0  # how soon what another process committed is seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Its place is saved after a page was taken, so an event may be taken twice and none is left out."""

    name: str
    feed: EventFeed
    marks: Marks
    take: Callable[[QuestionEvent], Awaitable[None]]
    clock: Clock

    async def look(self) -> int:
        """One page of the feed; answers when to look again."""
        events = await self.feed.events(since=await self.marks.offset(self.name) or 0, limit=_AT_A_TIME)
        try:
            for event in events:
                await self.take(event)
        except OverloadRejected as busy:
            return self.clock.now_us() + seconds(max(FOLLOW_SECONDS, busy.retry_after_seconds or 0))
        if events:
            await self.marks.save_offset(self.name, events[-1].position)
        return self.clock.now_us() + (0 if len(events) == _AT_A_TIME else seconds(FOLLOW_SECONDS))


# What happens to questions, for those who subscribed to it over HTTP.


_TOLD = frozenset(WebhookEvent)
_ROLES = frozenset(Role)


class Subscribers(Protocol):
    async def tell(self, news: News) -> None:
        """To each who wants it, once however often it is told."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionNews:
    """
    Told to subscriptions for the agent that asked, and for the people who are asked.

    `agents` are the addresses of a principal, `document` is the one shape of a question.
    """

    feed: EventFeed
    plans: Plans
    subscribers: Subscribers
    agents: Callable[[Principal], Sequence[str]]
    document: Callable[[QuestionView], Mapping[str, Any]]
    signal: Signal

    async def take(self, event: QuestionEvent) -> None:
        question = await self.feed.get(event.question_id) if str(event.type) in _TOLD else None
        if question is None:
            return
        shown = await self.plans.of(question.id)
        asker = principal_of(question.asker)
        askers = self.agents(asker) if asker is not None else ()
        for agent in dict.fromkeys([*askers, *(_address(person.id) for person in question.people)]):
            seen = question if agent in askers else for_others(question)
            view = QuestionView(question=seen, presentations=shown)
            await self.subscribers.tell(self._news(event, agent, view))
        self.signal.ring()

    def _news(self, event: QuestionEvent, agent: str, view: QuestionView) -> News:
        identity = f"ask-{event.position:020d}"
        body = {
            "event_id": identity,
            "event_type": str(event.type),
            "owner_agent": agent,
            "at": to_text(event.at_us),
            "ask": dict(self.document(view)),
        }
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        kind = WebhookEvent(str(event.type))
        return News(id=identity, owner_agent=agent, type=kind, body=text, at_us=event.at_us)


def principal_of(asker: str) -> Principal | None:
    """As it is written with a question; None of what the household asks by itself, about an intent or an approval."""
    role, _, name = asker.partition(":")
    if asker == str(OPERATOR):
        return OPERATOR
    return Principal(Role(role), name) if role in _ROLES else None


def _address(person_id: str) -> str:
    return HOUSEHOLD_OWNER if person_id == OWNER else user_address(person_id)


# Wakes a butler when a question that it wanted to go on from has ended: once, however late.


_ENDS: Final = frozenset(EVENT_OF_END.values())


class StartsSessions(Protocol):
    async def submit(
        self, prompt: str, *, trigger: str, caller: Principal, material: object = None, key: str | None = None
    ) -> object:
        """The same key again starts nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resuming:
    butler: str
    feed: EventFeed
    sessions: StartsSessions

    async def take(self, event: QuestionEvent) -> None:
        """Raises OverloadRejected when there is no room for another session just now."""
        question = await self.feed.get(event.question_id) if event.type in _ENDS else None
        if question is None or question.resume is None or question.resume.butler != self.butler:
            return
        try:
            await self._submit(question, question.resume, material(question))
        except ValidationError:  # too long for one session: what is left out, `wait` hands out
            await self._submit(question, question.resume, outline(question))

    async def _submit(self, question: Question, resume: Resume, read: dict[str, Any]) -> None:
        await self.sessions.submit(
            resume.prompt,
            trigger="answer",
            caller=Principal(Role.BUTLER, self.butler),
            material=read,
            key=f"answer:{question.id}",
        )


def material(question: Question) -> dict[str, Any]:
    """What the session is given to read: the answer is data in it. A secret is not; `wait` hands it out."""
    by, answer, resume = question.answered_by, question.answer, question.resume
    return {
        "ask_id": question.id,
        "question": question.wording.question,
        "status": str(question.status),
        "answer": None
        if answer is None
        else {
            "value": answer.value,
            "text": answer.text,
            "selected": list(answer.selected),
            "fields": dict(answer.fields),
            **({"files": [file_shape(one) for one in answer.files]} if answer.files else {}),
        },
        "answered_by": by.name if by else None,
        "state": question.state,
        "material": dict(resume.material) if resume and resume.material else None,
    }


def outline(question: Question) -> dict[str, Any]:
    return {
        "ask_id": question.id,
        "status": str(question.status),
        "note": "the answer is too long to be shown here; call wait with this ask_id",
    }


# Reminds, escalates and ends questions when their time has come.


LOOK_SECONDS: Final = 5.0  # how soon what another process asked is known here; nothing is due earlier than that


class Due(Protocol):
    async def due(self, now_us: int, limit: int) -> Sequence[Question]: ...


class ShownCards(Protocol):
    async def of(self, question_id: str) -> Sequence[Presentation]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Timekeeper:
    """A reminder is sent before it is noted, under a key of its own: a crash in between sends it once all the same."""

    questions: Questions
    store: Due
    shown: ShownCards
    cards: CardMaker
    outbound: Outbound
    clock: Clock
    times: QuestionTimes | None = None

    async def look(self) -> int:
        """One round; answers when the next is due."""
        now_us = self.clock.now_us()
        next_us = await self.questions.next_step_us()
        if next_us is not None and next_us <= now_us:
            for question in await self.store.due(now_us, _AT_A_TIME):
                for step in self.questions.due(question, now_us).steps:
                    await self._step(question, step, now_us)
            next_us = await self.questions.look()
        latest_us = now_us + seconds(LOOK_SECONDS)
        return latest_us if next_us is None else min(next_us, latest_us)

    async def _step(self, question: Question, step: QuestionStep, now_us: int) -> None:
        """What falls into quiet hours waits for their end; what is not postponed here is noted afterwards."""
        quiet: Sequence[int] = ()
        if step is QuestionStep.REMIND:
            quiet = await self._remind(question, now_us)
        elif step is QuestionStep.ESCALATE:
            ends = [await self._quiet_until(question, one.id, now_us) for one in question.people]
            quiet = [one for one in ends if one is not None] if None not in ends else ()
        if quiet:
            until_us = min(*quiet, now_us + seconds(QUIET_SECONDS))  # looked at again, because policies change
            await self.questions.postpone(question.id, step, until_us)

    async def _remind(self, question: Question, now_us: int) -> Sequence[int]:
        """Those for whom it is not quiet; when it ends for the others. A second time is the same message."""
        later = []
        for shown in await self.shown.of(question.id):
            if shown.status is not PresentationStatus.SHOWN:
                continue
            quiet_us = await self._quiet_until(question, shown.person_id, now_us)
            if quiet_us is not None:
                later.append(quiet_us)
                continue
            reminder = self.cards.reminder(question, shown)
            await self.outbound.submit(reminder, request_id=request_id_of(shown.id), wait_seconds=0)
        return later

    async def _quiet_until(self, question: Question, person: str, now_us: int) -> int | None:
        if self.times is None:
            return None
        at_us = await self.times.shown_at(person, question.asker, question.urgency, now_us)
        return at_us if at_us > now_us else None
