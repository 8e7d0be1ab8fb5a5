"""What an agent asks a person through an intent, as a question; and how the intent's end ends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.assurance import Assurance
from postroom.domain.intent import AgentIntent, IntentStatus
from postroom.domain.question import Question, Subject, SubjectKind
from postroom.domain.question_answer import AnsweredBy, QuestionAnswer
from postroom.domain.question_change import QuestionChange, ended
from postroom.domain.question_states import APPROVE, DENY, QuestionMove

_DECISIONS: Final = {"approved": APPROVE, "rejected": DENY}
_ELSEWHERE: Final = "api"


def subject_of(intent_id: str) -> Subject:
    return Subject(SubjectKind.INTENT, intent_id)


def agent_of(question: Question) -> str:
    """The address under which the person was asked."""
    return str(question.state["agent"]) if isinstance(question.state, Mapping) else ""


def ended_by(question: Question, intent: AgentIntent) -> QuestionChange:
    """It was answered another way, or is not asked any more; every card says so."""
    at_us, result = intent.updated_at_us, intent.result or {}
    if not question.is_open:
        return QuestionChange(question=question)
    if intent.status is IntentStatus.TIMED_OUT:
        return ended(question, QuestionMove.EXPIRE, at_us)
    if intent.status is not IntentStatus.COMPLETED:
        return ended(question, QuestionMove.CANCEL, at_us)
    return ended(
        question, QuestionMove.ANSWER, at_us, answer=_answer(result), answered_by=_answerer(question, intent, result)
    )


def _answer(result: Mapping[str, Any]) -> QuestionAnswer:
    decision = _DECISIONS.get(str(result.get("decision")))
    return QuestionAnswer(value=decision) if decision else QuestionAnswer(text=str(result.get("answer") or ""))


def _answerer(question: Question, intent: AgentIntent, result: Mapping[str, Any]) -> AnsweredBy:
    agent = str(result.get("responded_by") or intent.handler)
    own = agent == agent_of(question) and question.people
    return AnsweredBy(
        person_id=question.people[0].id if own else agent,
        name=question.people[0].name if own else agent.rpartition("/")[2],
        channel=_ELSEWHERE,
        assurance=Assurance.CHANNEL,
    )
