"""Those who wait for a question are woken when it changes, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.questions.model import KeptAttempt, Presentation, Question, QuestionEvent, Verdict
from postroom.questions.store.questions import QuestionRecord


class Bells:
    """
    `every` rings with each change, for those who look after all questions.

    Of those who wait one leads: it looks for what other processes committed, on behalf of all. `position` is how far
    it has looked, None before its first look. As long as this process `hears_others`, that is a precaution only.
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


# A question as its asker, or one of the people it asks, is shown it.


Progress = Callable[[float], Awaitable[None]]  # the seconds waited so far


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """`joined`: the call made nothing new, this question was there before it."""

    question: Question
    presentations: Sequence[Presentation] = ()
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersPage:
    """What ended for one asker; `cursor` is where the next page begins."""

    views: Sequence[QuestionView]
    cursor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionStory:
    """All that happened to a question: its events, and every attempt to answer it with its verdict."""

    view: QuestionView
    events: Sequence[QuestionEvent]
    attempts: Sequence[KeptAttempt]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardAnswer:
    """What became of a person's answer, and the question as it is then."""

    verdict: Verdict
    view: QuestionView


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLink:
    """What a one-time link shows: the question, and the person it was made for."""

    view: QuestionView
    person_id: str
    person_name: str
    revision: int

    @property
    def is_current(self) -> bool:
        """The words the link was sent with are still the question's."""
        return self.revision == self.view.question.revision


# Waiting for the end of a question: woken by its commit in this process; one of those who wait looks for others'.


LOOK_SECONDS: Final = 0.25  # how soon an end that another process committed is seen, where it is not heard of
CHECK_SECONDS: Final = 5.0  # the same where it should have been heard of
PROGRESS_SECONDS: Final = 10.0
_AT_A_TIME: Final = 200
Read = Callable[[str], Awaitable[Question | None]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waiting:
    """It only ever reads: a wait that is cancelled leaves the question as it is."""

    store: QuestionRecord
    bells: Bells
    clock: Clock
    read: Read

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
        return self.clock.now_us() + seconds(CHECK_SECONDS if hears_others else LOOK_SECONDS)

    async def _look_elsewhere(self) -> None:
        """The first look only finds out where the feed ends; so that nothing before is missed, all look once."""
        since = self.bells.position
        if since is None:
            self.bells.position = await self.store.last_position()
            self.bells.ring_for_all()
            return
        for event in await self.store.events(since=since, limit=_AT_A_TIME):
            self.bells.ring_for(event.question_id)
            self.bells.position = event.position
