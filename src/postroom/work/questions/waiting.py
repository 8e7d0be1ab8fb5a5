"""Waiting for the end of a question: woken by its commit in this process, looking once a second for others'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.ports import Clock
from postroom.domain.question import Question
from postroom.domain.time import SECOND_US, seconds
from postroom.work.questions.bells import Bells
from postroom.work.questions.view import Progress

LOOK_SECONDS: Final = 1.0  # how soon an end that another process committed is seen
PROGRESS_SECONDS: Final = 10.0


class Looked(Protocol):
    async def get(self, question_id: str) -> Question | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """It only ever reads: a wait that is cancelled leaves the question as it is."""

    store: Looked
    bells: Bells
    clock: Clock

    async def until_over(self, question_id: str, wait_seconds: float, progress: Progress | None) -> Question | None:
        """The question when it has ended, or as it is when the time is up."""
        began_us = self.clock.now_us()
        until_us, told = began_us + seconds(wait_seconds), 0
        with self.bells.listening(question_id) as bell:
            while True:
                news = bell.news()
                question = await self.store.get(question_id)
                now_us = self.clock.now_us()
                if question is None or not question.is_open or now_us >= until_us or self.bells.is_closed:
                    return question
                if progress and now_us - began_us >= (told + 1) * seconds(PROGRESS_SECONDS):
                    told += 1
                    await progress((now_us - began_us) / SECOND_US)
                await self.clock.wait(news, min(until_us, now_us + seconds(LOOK_SECONDS)))
