"""An answer, or a try at one, in the words a person saw; for the signed-in page and the operator."""

from __future__ import annotations

from typing import Any

from postroom.domain.answer_attempt import Said
from postroom.domain.question import RATHER_NOT, Wording
from postroom.domain.question_answer import QuestionAnswer
from postroom.work.questions.form import properties


def answer_words(wording: Wording, answer: QuestionAnswer | Said) -> str:
    """By labels and titles; empty when nothing was said, or when it was a secret and is not kept."""
    if isinstance(answer, Said) and answer.declined:
        return RATHER_NOT
    labels = {option.value: option.label for option in wording.options}
    if answer.value is not None:
        return labels.get(answer.value, answer.value)
    if answer.selected:
        return ", ".join(labels.get(one, one) for one in answer.selected)
    if answer.fields:
        return "; ".join(f"{_title(wording, name)}: {_value(value)}" for name, value in answer.fields.items())
    return answer.text or ""


def _title(wording: Wording, name: str) -> str:
    field = properties(wording.form).get(name, {}) if wording.form else {}
    return str(field.get("title") or name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
