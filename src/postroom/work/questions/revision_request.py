"""A call of `revise_ask` as it came, checked against the question it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.domain.fields import Fields
from postroom.domain.question import Question, QuestionKind, Wording
from postroom.domain.question_answer import QuestionAnswer
from postroom.work.questions.request import MAX_DEADLINE_SECONDS, MIN_DEADLINE_SECONDS, seconds_of
from postroom.work.questions.wording_request import check_wording

_REVISABLE: Final = (
    "question",
    "context",
    "format",
    "options",
    "form",
    "multiple",
    "allow_text",
    "default",
    "deadline_seconds",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRevision:
    """`deadline_seconds` counts from now; None leaves it where it was."""

    wording: Wording
    deadline_seconds: int | None


def check_revision(question: Question, arguments: object) -> QuestionRevision:
    """What is not given stays; raises ValidationError that names every wrong field as the caller wrote it."""
    fields = Fields(arguments, whole="arguments")
    fields.refuse_unknown(_REVISABLE)
    given = {name: fields.raw(name) for name in _REVISABLE if fields.has(name)}
    if not given and not fields.complaints:
        fields.complain(None, f"give at least one of {', '.join(_REVISABLE)}", "required")
    deadline = seconds_of(fields, "deadline_seconds", MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS)
    merged = {**_arguments(question.wording), **given}
    wording = check_wording(Fields(merged, complaints=fields.complaints))
    fields.finish()
    kept = question.wording.options if wording.kind is QuestionKind.APPROVE else wording.options
    kept_wording = replace(wording, options=kept, may_decline=question.wording.may_decline)
    return QuestionRevision(wording=kept_wording, deadline_seconds=deadline)


def _arguments(wording: Wording) -> dict[str, Any]:
    """The call that would have made this wording."""
    options = [{"value": one.value, "label": one.label, "description": one.description} for one in wording.options]
    return {
        "question": wording.question,
        "kind": str(wording.kind),
        "context": wording.context,
        "format": str(wording.format),
        "options": options if wording.kind is QuestionKind.CHOICE else None,
        "multiple": wording.multiple,
        "form": wording.form,
        "allow_text": wording.allow_text,
        "secret": wording.secret,
        "default": _default(wording.default),
    }


def _default(answer: QuestionAnswer | None) -> str | list[str] | Mapping[str, Any] | None:
    if answer is None:
        return None
    return answer.value or answer.text or list(answer.selected) or dict(answer.fields)
