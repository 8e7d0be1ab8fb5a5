"""What questions need from the world, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from postroom.domain.answer_attempt import Attempt, Heard, Verdict
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.domain.question_change import Asked, QuestionChange

Judge = Callable[[Question, Attempt, Presentation | None], Verdict]
Decide = Callable[[Question], QuestionChange]


class QuestionStore(Protocol):
    """Each of these is one transaction; `hear` and `change` show the question as it is and hold it meanwhile."""

    async def ask(self, question: Question, planned: Sequence[Presentation] | None = None) -> Asked: ...

    async def hear(self, attempt: Attempt, judge: Judge) -> Heard | None: ...

    async def change(self, question_id: str, decide: Decide) -> QuestionChange | None: ...

    async def due(self, now_us: int, limit: int) -> Sequence[Question]: ...

    async def next_due(self, after_us: int) -> int | None: ...
