"""A parked delivery as a question: what its card is bound to, and how a decision taken elsewhere ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.approval import ActionStatus, ApprovalDecision, Risk
from postroom.domain.principal import OPERATOR, OWNER
from postroom.domain.question import APPROVE, DENY, Question, Subject, SubjectKind
from postroom.domain.question_answer import AnsweredBy, Assurance, QuestionAnswer
from postroom.domain.question_change import QuestionChange, ended
from postroom.domain.question_states import QuestionMove

ASKER: Final = "system:approvals"  # no token stands for it: what is asked here cannot be taken back or reworded
_ANSWERS: Final = {ActionStatus.APPROVED: APPROVE, ActionStatus.REJECTED: DENY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a person agrees to, to the byte, and how dangerous it is; kept as the question's own state."""

    content_hash: str
    risk: Risk

    def state(self) -> dict[str, str]:
        return {"content_hash": self.content_hash, "risk": str(self.risk)}


def bound_of(question: Question) -> Bound | None:
    """None when it is about something else, or its words have been erased."""
    kept = question.state
    if not is_approval(question) or not isinstance(kept, Mapping):
        return None
    return Bound(content_hash=str(kept["content_hash"]), risk=Risk(kept["risk"]))


def is_approval(question: Question) -> bool:
    return question.subject is not None and question.subject.kind is SubjectKind.APPROVAL


def subject_of(action_id: str) -> Subject:
    return Subject(SubjectKind.APPROVAL, action_id)


def ended_by(question: Question, decision: ApprovalDecision) -> QuestionChange:
    """Whoever was first has decided; the question says so on every screen."""
    if not question.is_open:
        return QuestionChange(question=question)
    if decision.status is ActionStatus.EXPIRED:
        return ended(question, QuestionMove.EXPIRE, decision.at_us)
    answer = QuestionAnswer(value=_ANSWERS[decision.status])
    by = _decider(question, decision)
    return ended(question, QuestionMove.ANSWER, decision.at_us, answer=answer, answered_by=by, reason=_edited(decision))


def _decider(question: Question, decision: ApprovalDecision) -> AnsweredBy:
    names: Mapping[str, Any] = {person.id: person.name for person in question.people}
    role, _, name = decision.actor.partition(":")
    person_id = OWNER if decision.actor == str(OPERATOR) else name or role
    return AnsweredBy(
        person_id=person_id,
        name=names.get(person_id) or person_id,
        channel=decision.via,
        assurance=Assurance.SIGNED_IN,
    )


def _edited(decision: ApprovalDecision) -> str | None:
    return f"edited: {', '.join(decision.edited)}" if decision.edited else None
