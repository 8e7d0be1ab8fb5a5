"""A person's own answer in the protocol's words, as an answer to the question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.errors import ValidationError
from postroom.domain.fields import Fields
from postroom.domain.question import QuestionKind, Wording
from postroom.doors.ma2h.blocks import check_checklist
from postroom.doors.ma2h.question import COMPLETED, DISMISSED, is_task
from postroom.doors.ma2h.refusals import invalid, malformed
from postroom.work.questions.given import Given

_OF_ASK: Final = ("answered", "declined")
_OF_TASK: Final = {"completed": COMPLETED, "dismissed": DISMISSED}
_MAX_COMMENT: Final = 4_000


def check_resolve(body: object) -> Mapping[str, Any]:
    """Its shape alone. Raises NotTaken."""
    fields = Fields(body)
    resolution = fields.choice("resolution", (*_OF_ASK, *_OF_TASK))
    fields.text("comment", maximum=_MAX_COMMENT, required=False, blank=True)
    value = fields.raw("value")
    if resolution == "answered" and not isinstance(value, str | Mapping):
        fields.complain("value", "is required: a text, or an object", "required")
    if resolution != "answered" and value is not None:
        fields.complain("value", "is only for answered", "not_allowed")
    if resolution in _OF_ASK and fields.has("checklist"):
        fields.complain("checklist", "is only for a task", "not_allowed")
    check_checklist(fields, done=True)
    try:
        fields.finish()
    except ValidationError as error:
        raise malformed(error) from None
    return body if isinstance(body, Mapping) else {}


def given_of(wording: Wording, body: Mapping[str, Any]) -> Given:
    """Raises NotTaken when it does not fit what was asked."""
    resolution, comment = body["resolution"], body.get("comment") or None
    if is_task(wording) is not (resolution in _OF_TASK):
        fitting = tuple(_OF_TASK) if is_task(wording) else _OF_ASK
        raise invalid("resolution", f"must be {' or '.join(fitting)} here")
    if resolution in _OF_TASK:
        return Given(value=_OF_TASK[resolution], comment=comment, details=_checklist(body))
    if resolution == "declined":
        return Given(declined=True, comment=comment)
    value = body["value"]
    if (wording.kind is QuestionKind.FORM) is not isinstance(value, Mapping):
        raise invalid("value", "must be an object for an input, and a text for everything else")
    return Given(fields=value, comment=comment) if isinstance(value, Mapping) else Given(value=value, comment=comment)


def _checklist(body: Mapping[str, Any]) -> dict[str, Any] | None:
    listed = body.get("checklist")
    return {"checklist": [{"text": one["text"], "done": one["done"]} for one in listed]} if listed is not None else None
