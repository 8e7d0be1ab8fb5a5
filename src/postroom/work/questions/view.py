"""A question as its asker, or one of the people it asks, is shown it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from postroom.domain.answer_attempt import KeptAttempt, Verdict
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.domain.question_change import QuestionEvent

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
