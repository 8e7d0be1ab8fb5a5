"""Reminds, escalates and ends questions when their time has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.ports import Clock, Outbound
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.domain.question_states import PresentationStatus
from postroom.domain.time import seconds
from postroom.work.questions.cards import CardMaker, request_id_of
from postroom.work.questions.plan import QuestionStep, due
from postroom.work.questions.questions import Questions

LOOK_SECONDS: Final = 5.0  # how soon what another process asked is known here; nothing is due earlier than that
_AT_A_TIME: Final = 100


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

    async def look(self) -> int:
        """One round; answers when the next is due."""
        now_us = self.clock.now_us()
        for question in await self.store.due(now_us, _AT_A_TIME):
            if due(question, now_us).steps[:1] == (QuestionStep.REMIND,):
                await self._remind(question)
        next_us = await self.questions.look()
        latest_us = now_us + seconds(LOOK_SECONDS)
        return latest_us if next_us is None else min(next_us, latest_us)

    async def _remind(self, question: Question) -> None:
        for shown in await self.shown.of(question.id):
            if shown.status is PresentationStatus.SHOWN:
                reminder = self.cards.reminder(question, shown)
                await self.outbound.submit(reminder, request_id=request_id_of(shown.id), wait_seconds=0)
