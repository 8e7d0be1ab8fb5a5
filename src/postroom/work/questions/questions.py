"""Questions from beginning to end: asked once, heard by one rule, ended once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from postroom.domain.answer_attempt import Attempt, Heard, Verdict
from postroom.domain.clock import Clock
from postroom.domain.errors import Code, FieldError, OverloadRejected, ValidationError
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question, Wording
from postroom.domain.question_change import Asked, QuestionChange
from postroom.domain.time import seconds
from postroom.work.questions import moves
from postroom.work.questions.judge import AnswerPolicy, judge, refused
from postroom.work.questions.plan import Plan, QuestionStep, due
from postroom.work.questions.ports import Decide, QuestionStore

_AT_A_TIME: Final = 100
_EVER: Final = -1  # before all that can be due
_AGAIN_SECONDS: Final = 60.0
_ASLEEP_SECONDS: Final = 30  # whoever keeps time looks every five
Changed = Callable[[Question], None]
CaughtUp = Callable[[], int | None]


class KeyReused(ValidationError):
    """The caller's key stands for another question."""

    def __init__(self, ask_id: str) -> None:
        told = FieldError("idempotency_key", f"was already used for another question, {ask_id}", "key_reused")
        super().__init__(f"{told.field}: {told.error}", fields=[told])
        self.ask_id = ask_id


class TooManyOpen(OverloadRejected):
    """The asker waits for more answers than people can give."""

    def __init__(self) -> None:
        told = (
            "too many of your questions are open: wait for answers, or cancel some that nobody needs to answer any more"
        )
        super().__init__(told, limit_type="open_questions", retry_after_seconds=_AGAIN_SECONDS)
        self.code = Code.TOO_MANY_OPEN


def _nothing(_question: Question) -> None:
    return None


def _caught_up() -> int | None:
    return None


class Questions:
    """
    `changed` is rung after every commit, with the question as it is then.

    `caught_up` says until when everything that people sent has been read; None when nothing can be on its way.
    """

    def __init__(
        self,
        store: QuestionStore,
        clock: Clock,
        *,
        policy: AnswerPolicy = AnswerPolicy(),  # noqa: B008  # frozen
        changed: Changed = _nothing,
        caught_up: CaughtUp = _caught_up,
    ) -> None:
        self._store = store
        self._clock = clock
        self._policy = policy
        self._changed = changed
        self._caught_up = caught_up
        self._awake_us = self._awake_since_us = 0

    async def ask(self, question: Question, planned: Sequence[Presentation] | None = None) -> Asked:
        """With the places where it is shown, or left to be planned. Raises KeyReused and TooManyOpen."""
        asked = await self._store.ask(question, planned)
        if asked.refused:
            raise TooManyOpen
        if asked.conflict:
            raise KeyReused(asked.question.id)
        if asked.created:
            self._changed(asked.question)
        return asked

    async def hear(self, attempt: Attempt) -> Heard | None:
        """It is heard now, whatever it says; None when there is no such question."""
        heard = await self._store.hear(replace(attempt, heard_at_us=self._clock.now_us()), self._judge)
        if heard is not None and not heard.repeated:
            self._changed(heard.question)
        return heard

    def refusal(self, question: Question, attempt: Attempt) -> Verdict | None:
        """Of whoever wants to answer and has not said anything yet; nothing of it is kept."""
        return refused(question, attempt, self._clock.now_us(), self._policy)

    async def cancel(self, question_id: str, reason: str | None = None) -> Question | None:
        return await self._change(question_id, partial(moves.cancelled, reason=reason, now_us=self._clock.now_us()))

    async def reminded(self, question_id: str) -> Question | None:
        """Notes the first reminder that another than the timekeeper sent."""
        return await self._change(question_id, partial(moves.reminded, now_us=self._clock.now_us()))

    async def postpone(self, question_id: str, step: QuestionStep, until_us: int) -> Question | None:
        return await self._change(question_id, partial(moves.postponed, step=step, until_us=until_us))

    async def supersede(self, question_id: str, by: str) -> Question | None:
        return await self._change(question_id, partial(moves.superseded, by=by, now_us=self._clock.now_us()))

    async def revise(self, question_id: str, wording: Wording, expires_at_us: int | None = None) -> Question | None:
        now_us = self._clock.now_us()
        decide = partial(moves.revised, wording=wording, expires_at_us=expires_at_us, now_us=now_us)
        return await self._change(question_id, decide)

    async def next_step_us(self) -> int | None:
        """When the first of them is to be reminded of, escalated or ended: most looks find only that."""
        self._stay_awake(self._clock.now_us())
        return await self._store.next_due(_EVER)

    async def look(self) -> int | None:
        """One round of reminding, escalating and ending; answers when to look again."""
        now_us = self._clock.now_us()
        waiting = await self._store.due(now_us, _AT_A_TIME)
        again: list[int] = []
        for question in waiting:
            plan = self.due(question, now_us)
            if plan.steps:
                await self._change(question.id, partial(self._step, now_us=now_us))
            if plan.next_at_us is not None:
                again.append(plan.next_at_us)
        later = now_us if len(waiting) == _AT_A_TIME else await self._store.next_due(now_us)
        return min([*again, *([] if later is None else [later])], default=None)

    def due(self, question: Question, now_us: int) -> Plan:
        self._stay_awake(now_us)
        return due(question, now_us, caught_up_until_us=self._caught_up(), awake_since_us=self._awake_since_us)

    def _step(self, question: Question, now_us: int) -> QuestionChange:
        """Planned again under the lock: an answer may have come meanwhile."""
        return moves.taken(question, self.due(question, now_us), now_us)

    def _stay_awake(self, now_us: int) -> None:
        """Asked every few seconds, unless the household was down, or its machine asleep."""
        if now_us - self._awake_us > seconds(_ASLEEP_SECONDS):
            self._awake_since_us = now_us
        self._awake_us = now_us

    def _judge(self, question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
        return judge(question, attempt, attempt.heard_at_us, shown, self._policy)

    async def _change(self, question_id: str, decide: Decide) -> Question | None:
        change = await self._store.change(question_id, decide)
        if change is None:
            return None
        if change.event is not None:
            self._changed(change.question)
        return change.question
