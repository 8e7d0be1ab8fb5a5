"""How those who asked learn of an end: waiting calls are woken, subscribers are told, sessions of butlers begin."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from postroom.butlers.sessions import Sessions
from postroom.delivery.afterwards.webhooks import News, StoredWebhooks, WebhookEvent
from postroom.kernel.database.engine import Marks
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import OverloadRejected, ValidationError
from postroom.kernel.values.ids import SECOND_US, seconds, to_text
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, OWNER, Principal, Role, user_address
from postroom.questions.model import EVENT_OF_END, Question, QuestionEvent, Resume
from postroom.questions.shapes import QuestionView, ask_body, for_others
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions

# ---- calls that wait ----


LOOK_SECONDS: Final = 0.25  # how soon an end that another process committed is seen, where it is not heard of
_CHECK_SECONDS: Final = 5.0  # the same where it should have been heard of
PROGRESS_SECONDS: Final = 10.0
_AT_A_TIME: Final = 200
Progress = Callable[[float], Awaitable[None]]  # the seconds waited so far
_Read = Callable[[str], Awaitable[Question | None]]


class Bells:
    """
    `every` rings with each change, for those who look after all questions.

    A single flight: of those who wait one leads and looks for what other processes committed, on behalf of all.
    `position` is how far it has looked, None before its first look. As long as this process `hears_others`, that is a
    precaution only.
    """

    def __init__(self, hears_others: Callable[[], bool] = lambda: False) -> None:
        self.hears_others = hears_others
        self.every = Signal()
        self.position: int | None = None
        self._of: dict[str, tuple[Signal, int]] = {}
        self._leader: object = None
        self._also: list[Callable[[Question], None]] = []

    def also(self, call: Callable[[Question], None]) -> None:
        """For those who look after what questions are about."""
        self._also.append(call)

    @property
    def is_closed(self) -> bool:
        return self.every.is_closed

    @contextmanager
    def listening(self, question_id: str) -> Iterator[Signal]:
        if not self._of:
            self.position = None
        signal, listeners = self._of.get(question_id, (Signal(), 0))
        self._of[question_id] = (signal, listeners + 1)
        try:
            yield signal
        finally:
            _, listeners = self._of.pop(question_id)
            if listeners > 1:
                self._of[question_id] = (signal, listeners - 1)

    def leads(self, who: object) -> bool:
        """Whether it leads; it does from now on if no other does."""
        self._leader = self._leader or who
        return self._leader is who

    @contextmanager
    def resigning(self, who: object) -> Iterator[None]:
        """If it led until then, one of those who still wait is woken, and leads."""
        try:
            yield
        finally:
            if self._leader is who:
                self._leader = None
                for signal, _ in list(self._of.values())[:1]:
                    signal.ring()

    def ring(self, question: Question) -> None:
        if not question.is_open:
            self.ring_for(question.id)
        self.every.ring()
        for call in self._also:
            call(question)

    def ring_elsewhere(self, question_id: str | None) -> None:
        """Another process committed a change of this one; None: of some, and they are not known."""
        if question_id is None:
            self.ring_for_all()
        else:
            self.ring_for(question_id)
        self.every.ring()

    def ring_for(self, question_id: str) -> None:
        if listened := self._of.get(question_id):
            listened[0].ring()

    def ring_for_all(self) -> None:
        for signal, _ in self._of.values():
            signal.ring()

    def close(self) -> None:
        """The house is stopping: those who wait look once more and wait no longer."""
        self.every.close()
        for signal, _ in self._of.values():
            signal.close()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitForEnd:
    """It only ever reads: a wait that is cancelled leaves the question as it is."""

    store: StoredQuestions
    bells: Bells
    clock: Clock
    read: _Read

    async def until_over(self, question_id: str, wait_seconds: float, progress: Progress | None) -> Question | None:
        """The question when it has ended, or as it is when the time is up."""
        began_us = self.clock.now_us()
        until_us, told = began_us + seconds(wait_seconds), 0
        with self.bells.resigning(self), self.bells.listening(question_id) as bell:
            while True:
                news = bell.news()
                question = await self.read(question_id)
                now_us = self.clock.now_us()
                if question is None or not question.is_open or now_us >= until_us or self.bells.is_closed:
                    return question
                if progress and now_us - began_us >= (told + 1) * seconds(PROGRESS_SECONDS):
                    told += 1
                    await progress((now_us - began_us) / SECOND_US)
                progress_us = began_us + (told + 1) * seconds(PROGRESS_SECONDS) if progress else until_us
                await self._news(news, min(until_us, progress_us))

    async def _news(self, news: asyncio.Event, until_us: int) -> None:
        """Until there is some, or the time is up; meanwhile, if it leads, it looks for what others committed."""
        while not news.is_set() and self.clock.now_us() < until_us:
            if not self.bells.leads(self):
                await self.clock.wait(news, until_us)
            elif not await self.clock.wait(news, min(until_us, self._next_look_us())):
                await self._look_elsewhere()

    def _next_look_us(self) -> int:
        hears_others = self.bells.position is not None and self.bells.hears_others()
        return self.clock.now_us() + seconds(_CHECK_SECONDS if hears_others else LOOK_SECONDS)

    async def _look_elsewhere(self) -> None:
        """The first look only finds out where the feed ends; so that nothing before is missed, all look once."""
        since = self.bells.position
        if since is None:
            self.bells.position = await self.store.last_position()
            self.bells.ring_for_all()
            return
        for event in await self.store.events(since=since, limit=_AT_A_TIME):
            if event.type in _ENDS:
                self.bells.ring_for(event.question_id)
            self.bells.position = event.position


# ---- those who follow the feed, over every restart ----


_FOLLOW_SECONDS: Final = 2.0  # how soon what another process committed is seen
_EVENTS_AT_A_TIME: Final = 100


@dataclass(slots=True, kw_only=True)
class Follower:
    """
    Its place is saved after a page was taken, so an event may be taken twice and none is left out.

    Nobody else moves it, so it is read once.
    """

    name: str
    feed: StoredQuestions
    marks: Marks
    take: Callable[[Sequence[QuestionEvent]], Awaitable[None]]
    clock: Clock
    _position: int | None = None

    async def look(self) -> int:
        """One page of the feed; answers when to look again."""
        if self._position is None:
            self._position = await self.marks.offset(self.name) or 0
        events = await self.feed.events(since=self._position, limit=_EVENTS_AT_A_TIME)
        try:
            if events:
                await self.take(events)
        except OverloadRejected as busy:
            return self.clock.now_us() + seconds(max(_FOLLOW_SECONDS, busy.retry_after_seconds or 0))
        if events:
            await self.marks.save_offset(self.name, events[-1].position)
            self._position = events[-1].position
        return self.clock.now_us() + (0 if len(events) == _EVENTS_AT_A_TIME else seconds(_FOLLOW_SECONDS))


_TOLD = frozenset(WebhookEvent)
_ROLES = frozenset(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionNews:
    """
    Told to subscriptions for the agent that asked, and for the people who are asked.

    `agents` are the addresses of a principal.
    """

    feed: StoredQuestions
    plans: StoredPresentations
    subscribers: StoredWebhooks
    agents: Callable[[Principal], Sequence[str]]
    signal: Signal

    async def take(self, events: Sequence[QuestionEvent]) -> None:
        told = [event for event in events if str(event.type) in _TOLD]
        if not told or not await self.subscribers.are_any():
            return
        for event in told:
            await self._tell(event)
        self.signal.ring()

    async def _tell(self, event: QuestionEvent) -> None:
        question = await self.feed.get(event.question_id)
        if question is None:
            return
        shown = await self.plans.of(question.id)
        asker = principal_of(question.asker)
        askers = self.agents(asker) if asker is not None else ()
        for agent in dict.fromkeys([*askers, *(_address(person.id) for person in question.people)]):
            seen = question if agent in askers else for_others(question)
            view = QuestionView(question=seen, presentations=shown)
            await self.subscribers.tell(self._news(event, agent, view))

    def _news(self, event: QuestionEvent, agent: str, view: QuestionView) -> News:
        identity = f"ask-{event.position:020d}"
        body = {
            "event_id": identity,
            "event_type": str(event.type),
            "owner_agent": agent,
            "at": to_text(event.at_us),
            "ask": ask_body(view).model_dump(mode="json"),
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


_ENDS: Final = frozenset(EVENT_OF_END.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Resuming:
    butler: str
    feed: StoredQuestions
    sessions: Sessions

    async def take(self, events: Sequence[QuestionEvent]) -> None:
        """Raises OverloadRejected when there is no room for another session just now."""
        for question in await self.feed.to_resume([event.question_id for event in events if event.type in _ENDS]):
            if question.resume is not None and question.resume.butler == self.butler:
                await self._begin(question, question.resume)

    async def _begin(self, question: Question, resume: Resume) -> None:
        try:
            await self._submit(question, resume, material(question))
        except ValidationError:  # too long for one session: what is left out, `wait` hands out
            await self._submit(question, resume, _outline(question))

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
    told, resume = ask_body(QuestionView(question=question)), question.resume
    return {
        "ask_id": told.ask_id,
        "question": question.wording.question,
        "status": told.status,
        "answer": told.answer.model_dump(mode="json") if told.answer else None,
        "answered_by": told.answered_by.name if told.answered_by else None,
        "state": told.state,
        "material": dict(resume.material) if resume and resume.material else None,
    }


def _outline(question: Question) -> dict[str, Any]:
    return {
        "ask_id": question.id,
        "status": str(question.status),
        "note": "the answer is too long to be shown here; call wait with this ask_id",
    }
