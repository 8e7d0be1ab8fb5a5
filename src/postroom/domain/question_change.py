"""A change of a question with the line it leaves in the feed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from postroom.domain.answer_attempt import Attempt, Verdict
from postroom.domain.question import Question
from postroom.domain.question_answer import AnsweredBy
from postroom.domain.question_states import QuestionMove, QuestionStatus, after


class QuestionEventType(StrEnum):
    OPENED = "ask.opened"
    REVISED = "ask.revised"
    REMINDED = "ask.reminded"
    ESCALATED = "ask.escalated"
    ANSWERED = "ask.answered"
    DECLINED = "ask.declined"
    EXPIRED = "ask.expired"
    CANCELLED = "ask.cancelled"
    SUPERSEDED = "ask.superseded"


EVENT_OF_END: Final = {
    QuestionStatus.ANSWERED: QuestionEventType.ANSWERED,
    QuestionStatus.DECLINED: QuestionEventType.DECLINED,
    QuestionStatus.EXPIRED: QuestionEventType.EXPIRED,
    QuestionStatus.CANCELLED: QuestionEventType.CANCELLED,
    QuestionStatus.SUPERSEDED: QuestionEventType.SUPERSEDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionChange:
    """The question as it is to be; without an event it is as it was."""

    question: Question
    event: QuestionEventType | None = None
    at_us: int = 0
    note: Mapping[str, Any] = field(default_factory=dict)  # ids and reasons, never what people wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEvent:
    """One line of the feed; `position` is its place in the order of commits."""

    position: int
    question_id: str
    asker: str
    type: QuestionEventType
    at_us: int
    note: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A question that is over, at its place in the feed."""

    position: int
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    The question that stands for the call: new, one that was there, or (conflict) another under the same key.

    With `refused` there is none: its asker has too many open already.
    """

    question: Question
    created: bool
    conflict: bool = False
    refused: bool = False

    @property
    def joined(self) -> bool:
        return not self.created and not self.conflict and not self.refused


def ended(question: Question, move: QuestionMove, at_us: int, **changes: Any) -> QuestionChange:
    """Over, and nothing left to do about it."""
    status = after(question.status, move)
    over = replace(question, status=status, ended_at_us=at_us, next_at_us=None, **changes)
    return QuestionChange(question=over, event=EVENT_OF_END[status], at_us=at_us)


def decided(question: Question, attempt: Attempt, verdict: Verdict) -> QuestionChange:
    """As the accepted attempt ends it; a person who was asked has the name under which they were."""
    names = {person.id: person.name for person in question.people}
    by = AnsweredBy(
        person_id=attempt.person_id or "",
        name=names.get(attempt.person_id or "", attempt.person_name),
        channel=attempt.channel,
        assurance=attempt.assurance,
    )
    move = QuestionMove.DECLINE if verdict.declined else QuestionMove.ANSWER
    return ended(question, move, attempt.heard_at_us, answer=verdict.answer, answered_by=by)
