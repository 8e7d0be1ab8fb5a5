"""A parked delivery as a question: what its card is bound to, and what a decision taken elsewhere makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.answer_attempt import Attempt, Said, Verdict, VerdictKind
from postroom.domain.approval import ActionStatus, ApprovalDecision
from postroom.domain.assurance import Assurance
from postroom.domain.errors import FieldError
from postroom.domain.is_approval import is_approval
from postroom.domain.principal import OPERATOR, OWNER
from postroom.domain.question import Question, Subject, SubjectKind
from postroom.domain.question_answer import AnsweredBy, QuestionAnswer
from postroom.domain.question_change import QuestionChange, ended
from postroom.domain.question_states import APPROVE, DENY, QuestionMove, QuestionStatus
from postroom.domain.risk_and_urgency import Risk

_ANSWERS: Final = {ActionStatus.APPROVED: APPROVE, ActionStatus.REJECTED: DENY}
_KINDS: Final = {
    "already_decided": VerdictKind.LOST_RACE,
    "too_late": VerdictKind.LATE,
    "unknown_action": VerdictKind.LATE,
    "not_an_approver": VerdictKind.UNAUTHORISED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTried:
    """What a person tried to decide elsewhere than on a card: `value` is one of its two, `actor` a principal's text."""

    actor: str
    via: str
    value: str
    at_us: int


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


def subject_of(action_id: str) -> Subject:
    return Subject(SubjectKind.APPROVAL, action_id)


def ended_by(question: Question, decision: ApprovalDecision) -> QuestionChange:
    """Whoever was first has decided; the question says so on every screen."""
    if not question.is_open:
        return QuestionChange(question=question)
    if decision.status is ActionStatus.EXPIRED:
        return ended(question, QuestionMove.EXPIRE, decision.at_us)
    answer = QuestionAnswer(value=_ANSWERS[decision.status])
    by = _decider(question, decision.actor, decision.via)
    return ended(question, QuestionMove.ANSWER, decision.at_us, answer=answer, answered_by=by, reason=_edited(decision))


def attempt_by(question: Question, tried: DecisionTried, id: str) -> Attempt:
    """As if the answer had come by the card; every try is an event of its own."""
    by = _decider(question, tried.actor, tried.via)
    return Attempt(
        id=id,
        question_id=question.id,
        channel=by.channel,
        provider_event_id=f"{tried.actor}:{question.id}:{id}",
        said=Said(value=tried.value),
        heard_at_us=tried.at_us,
        person_id=by.person_id,
        person_name=by.name,
        assurance=by.assurance,
        actor=tried.actor,
        operator=tried.actor == str(OPERATOR),
        revision=question.revision,
    )


def verdict_on(question: Question, refusal: FieldError | None) -> Verdict:
    """`question` as the decision left it."""
    if refusal is None:
        return Verdict(kind=VerdictKind.ACCEPTED, answer=question.answer)
    if question.status is QuestionStatus.EXPIRED:
        return Verdict(kind=VerdictKind.LATE, code=refusal.code, reason="the time for an answer is over")
    if question.answered_by is not None:
        first = f"{question.answered_by.name} was first"
        return Verdict(kind=VerdictKind.LOST_RACE, code=refusal.code, reason=first)
    return refused(refusal)


def refused(refusal: FieldError) -> Verdict:
    kind = _KINDS.get(refusal.code, VerdictKind.INVALID)
    return Verdict(kind=kind, code=refusal.code, reason=refusal.error)


def _decider(question: Question, actor: str, via: str) -> AnsweredBy:
    names: Mapping[str, Any] = {person.id: person.name for person in question.people}
    role, _, name = actor.partition(":")
    person_id = OWNER if actor == str(OPERATOR) else name or role
    return AnsweredBy(
        person_id=person_id,
        name=names.get(person_id) or person_id,
        channel=via,
        assurance=Assurance.SIGNED_IN,
    )


def _edited(decision: ApprovalDecision) -> str | None:
    return f"edited: {', '.join(decision.edited)}" if decision.edited else None
