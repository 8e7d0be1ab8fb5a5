"""What is due of a question: its people are reminded, others are asked as well, it ends, or its secret is forgotten."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.attention.attention import QuestionTimes
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.moments import Due, Reason
from postroom.message.channel import Outbound
from postroom.questions.model import PresentationStatus, Question
from postroom.questions.presenter import QUIET_SECONDS
from postroom.questions.questions import Questions
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import is_due, later_moment
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSteps:
    """A reminder is sent before it is noted, under a key of its own: a crash in between sends it once all the same."""

    questions: Questions
    store: StoredQuestions
    shown: StoredPresentations
    cards: CardMaker
    outbound: Outbound
    times: QuestionTimes | None = None

    async def take(self, due: Due) -> int | None:
        """What falls into quiet hours waits for their end; what is not postponed is noted."""
        if due.reason is Reason.FORGET:
            await self.store.wipe(due.id)
            return None
        question, quiet = await self.store.get(due.id), list[int]()
        if question is None or not is_due(question, due):
            return None if question is None else later_moment(question, due)
        if due.reason is Reason.REMIND:
            quiet = await self._remind(question, due.now_us)
        elif due.reason is Reason.ESCALATE:
            ends = [await self._quiet_until(question, one.id, due.now_us) for one in question.people]
            quiet = [one for one in ends if one is not None] if None not in ends else []
        if quiet:
            until_us = min(*quiet, due.now_us + seconds(QUIET_SECONDS))  # looked at again, because policies change
            await self.questions.postpone(question.id, due.reason, until_us)
        else:
            await self.questions.take(due)
        return None

    async def _remind(self, question: Question, now_us: int) -> list[int]:
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
            await self.outbound.submit(reminder, request_id=shown.id, wait_seconds=0)
        return later

    async def _quiet_until(self, question: Question, person: str, now_us: int) -> int | None:
        if self.times is None:
            return None
        at_us = await self.times.shown_at(person, question.asker, question.urgency, now_us)
        return at_us if at_us > now_us else None
