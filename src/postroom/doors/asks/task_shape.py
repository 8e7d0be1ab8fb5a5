"""A question as the task it is to a client that knows tasks."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.question import Question
from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import to_text

POLL_MS: Final = 2000
_DAY_MS: Final = 24 * 60 * 60 * 1000  # a question is kept for at least so long after its end
_WAITS: Final = "No person has answered yet."
_SHOWN: Final = "No person has answered yet. The form is one of the places where they can."


def task_shape(question: Question, *, shows_form: bool = False, said: str = "") -> dict[str, Any]:
    """`said` is what there is to say of its end."""
    moments = (question.created_at_us, question.reminded_at_us, question.escalated_at_us, question.ended_at_us)
    return {
        "taskId": question.id,
        "status": _status(question.status, shows_form=shows_form),
        "statusMessage": said or (_SHOWN if shows_form else _WAITS),
        "createdAt": to_text(question.created_at_us),
        "lastUpdatedAt": to_text(max(at for at in moments if at is not None)),
        "ttlMs": (question.expires_at_us - question.created_at_us) // 1000 + _DAY_MS,
        "pollIntervalMs": POLL_MS,
    }


def _status(status: QuestionStatus, *, shows_form: bool) -> str:
    """That time ran out, or that a person would rather not, is a result and no failure."""
    match status:
        case QuestionStatus.OPEN:
            return "input_required" if shows_form else "working"
        case QuestionStatus.CANCELLED:
            return "cancelled"
        case _:
            return "completed"
