"""A question as a form that a client shows to its person, and what such a form brings back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.question import Question, QuestionKind, Wording
from postroom.work.questions.card_words import asking_words, is_hidden
from postroom.work.questions.given import Given, check_given
from postroom.work.questions.reading import MAX_ANSWER_CHARACTERS

ANSWER: Final = "answer"
_FORM_KEYS: Final = ("type", "properties", "required")  # all that clients know


def may_be_a_form(question: Question) -> bool:
    """
    No permission, no secret and nothing that is hidden from screens is put into a program's hands.

    What the household asks by itself, and what is to be shown at named places only, is asked there.
    """
    is_plain = question.subject is None and question.channels is None and not is_hidden(question)
    return is_plain and question.wording.kind is not QuestionKind.APPROVE


def form_words(question: Question, zone: str, problem: str = "") -> str:
    return asking_words(question, zone, listed=False, how=problem).plain


def form_schema(wording: Wording) -> dict[str, Any]:
    """It has always a field: a form without one is accepted by programs with no person near."""
    if wording.kind is QuestionKind.FORM:
        form = wording.form or {}
        return {key: form[key] for key in _FORM_KEYS if key in form}
    return {"type": "object", "properties": {ANSWER: _field(wording)}, "required": [ANSWER]}


def given_of(wording: Wording, content: Mapping[str, Any]) -> Given:
    """Raises ValidationError. What counts as an answer is judged elsewhere."""
    if wording.kind is QuestionKind.FORM:
        return check_given({"fields": dict(content)})
    return check_given({_said_as(wording): content.get(ANSWER, "")})


def _said_as(wording: Wording) -> str:
    if wording.kind is QuestionKind.TEXT:
        return "text"
    return "selected" if wording.multiple else "value"


def _field(wording: Wording) -> dict[str, Any]:
    if wording.kind is QuestionKind.TEXT:
        return {"type": "string", "title": "Answer", "minLength": 1, "maxLength": MAX_ANSWER_CHARACTERS}
    offered = [{"const": one.value, "title": one.label} for one in wording.options]
    if wording.multiple:
        return {"type": "array", "title": "Answer", "items": {"anyOf": offered}, "minItems": 1}
    return {"type": "string", "title": "Answer", "oneOf": offered}
