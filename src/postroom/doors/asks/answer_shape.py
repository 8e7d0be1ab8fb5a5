"""The one shape in which every door tells what became of a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from postroom.domain.attachment import file_shape
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.domain.question_answer import BY_DEFAULT, AnsweredBy, QuestionAnswer
from postroom.domain.question_states import PresentationStatus, QuestionStatus
from postroom.domain.time import to_text

_NOT_SHOWN: Final = "not_shown"
_STILL_OPEN: Final = (
    "Not answered yet. Call wait with this ask_id to go on waiting; do not ask again and do not make up an answer."
)


def answer_shape(question: Question, shown: Sequence[Presentation], *, joined: bool = False) -> dict[str, Any]:
    by = question.answered_by
    return {
        "status": str(question.status),
        "ask_id": question.id,
        "idempotency_key": question.key,
        "joined": joined,
        "answer": _answer(question.answer) if question.answer else None,
        "answered_by": _answered_by(by) if by else None,
        "answered_at": to_text(question.ended_at_us) if by and question.ended_at_us is not None else None,
        "expires_at": to_text(question.expires_at_us),
        "presentations": [_presentation(question, one) for one in shown],
        "state": question.state,
        "next": next_sentence(question, shown),
    }


def next_sentence(question: Question, shown: Sequence[Presentation]) -> str:
    """What a model should do now; it always says whether a person acted."""
    name = question.answered_by.name if question.answered_by else "a person"
    match question.status:
        case QuestionStatus.OPEN:
            return _while_open(question, shown)
        case QuestionStatus.ANSWERED if question.wording.secret and question.answer is None:
            return f"{name} answered. The secret is handed out once, by wait, and is not shown here."
        case QuestionStatus.ANSWERED:
            return f"{name} answered. Go on with this answer; do not ask again."
        case QuestionStatus.DECLINED:
            return f"{name} would rather not answer. Go on without it; do not ask again and do not make up an answer."
        case QuestionStatus.EXPIRED if question.answered_by == BY_DEFAULT:
            return "No person answered in time: the answer is the default that was given with the question."
        case QuestionStatus.EXPIRED:
            return "No person answered in time. This is neither a yes nor a no; do not make up an answer."
        case QuestionStatus.CANCELLED:
            return "The question was cancelled before a person answered. This is neither a yes nor a no."
        case QuestionStatus.SUPERSEDED:
            instead = f": wait for {question.superseded_by}" if question.superseded_by else ""
            return f"Another question took its place{instead}. No person answered this one."


def _while_open(question: Question, shown: Sequence[Presentation]) -> str:
    if not shown or not all(_is_not_shown(one) for one in shown):
        return _STILL_OPEN
    reasons = "; ".join(f"{_name(question, one.person_id)}: {one.reason}" for one in shown)
    return (
        f"No person could be shown this question ({reasons}). It waits in the console until it expires; "
        "say so instead of asking again, and do not make up an answer."
    )


def _answer(answer: QuestionAnswer) -> dict[str, Any]:
    return {
        "value": answer.value,
        "text": answer.text,
        "selected": list(answer.selected),
        "fields": dict(answer.fields),
        **({"files": [file_shape(one) for one in answer.files]} if answer.files else {}),
    }


def _answered_by(by: AnsweredBy) -> dict[str, Any]:
    return {"person_id": by.person_id, "name": by.name, "channel": by.channel, "assurance": str(by.assurance)}


def _presentation(question: Question, one: Presentation) -> dict[str, Any]:
    told = {
        "channel": one.channel,
        "person": _name(question, one.person_id),
        "status": _NOT_SHOWN if _is_not_shown(one) else str(one.status),
    }
    return told | ({"reason": one.reason} if one.reason else {})


def _is_not_shown(one: Presentation) -> bool:
    """It could not be, or something holds it up: then the reason says what."""
    return one.status is PresentationStatus.FAILED or (one.status is PresentationStatus.PLANNED and bool(one.reason))


def _name(question: Question, person_id: str) -> str:
    return next((person.name for person in question.people if person.id == person_id), person_id)
