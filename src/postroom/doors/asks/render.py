"""A question as every door renders it: for agents what became of it, for people also what was asked."""

from __future__ import annotations

from typing import Any

from postroom.domain.question import Question
from postroom.domain.time import to_text
from postroom.doors.asks.answer_shape import answer_shape
from postroom.work.questions.view import QuestionView


def document(view: QuestionView) -> dict[str, Any]:
    """For MCP, REST, the command line, webhooks and streams alike; what a caller may not see is not in their view."""
    return answer_shape(view.question, view.presentations, joined=view.joined)


def shown(view: QuestionView) -> dict[str, Any]:
    """The same with what was asked, for those who look at questions that they have not asked themselves."""
    return document(view) | {"asked": _asked(view.question)}


def _asked(question: Question) -> dict[str, Any]:
    wording = question.wording
    return {
        "question": wording.question,
        "kind": str(wording.kind),
        "context": wording.context,
        "format": str(wording.format),
        "options": [
            {"value": one.value, "label": one.label, "description": one.description} for one in wording.options
        ],
        "multiple": wording.multiple,
        "form": dict(wording.form) if wording.form else None,
        "allow_text": wording.allow_text,
        "secret": wording.secret,
        "urgency": str(question.urgency),
        "asked_by": question.asker,
        "asked_at": to_text(question.created_at_us),
        "to": [{"person_id": person.id, "name": person.name} for person in question.people],
        "revision": question.revision,
        "reason": question.reason,
    }
