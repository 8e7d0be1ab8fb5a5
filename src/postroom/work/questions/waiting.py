"""Waiting for the end of a question: woken by its commit in this process; one of those who wait looks for others'."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.question import Question
from postroom.domain.time import SECOND_US, seconds
from postroom.work.questions.bells import Bells
from postroom.work.questions.records import QuestionRecord
from postroom.work.questions.view import Progress

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
