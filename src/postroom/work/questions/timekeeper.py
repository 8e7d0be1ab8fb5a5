"""Reminds, escalates and ends questions when their time has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.clock import Clock
from postroom.domain.ports import Outbound
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.domain.question_states import PresentationStatus
from postroom.domain.time import seconds
from postroom.work.attention.question_times import QuestionTimes
from postroom.work.questions.cards import CardMaker, request_id_of
from postroom.work.questions.plan import QuestionStep
from postroom.work.questions.planning import QUIET_SECONDS
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
