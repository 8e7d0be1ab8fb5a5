"""What a person sends from the page of a link, as the answer it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.question import QuestionKind, Wording
from postroom.work.questions.form import properties
from postroom.work.questions.given import Given, check_given
from postroom.work.questions.reading import field_value

NONCE: Final = "nonce"
ACT: Final = "act"  # which button was pressed
DECLINE: Final = "decline"
CONFIRM: Final = "confirm"
VALUE: Final = "value"
TEXT: Final = "text"
FIELD: Final = "field."
_MOST_FIELDS: Final = 500


@dataclass(frozen=True, slots=True)
class SentForm:
    fields: Sequence[tuple[str, str]] = ()

    def get(self, name: str) -> str:
        return next((value for key, value in self.fields if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


def read_form(body: bytes) -> SentForm:
    """What cannot be read is a form with nothing in it."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return SentForm()
    return SentForm(tuple((name, value.replace("\0", "")) for name, value in pairs))


def given_of(form: SentForm, wording: Wording) -> Given:
    """Raises ValidationError when nothing was chosen or written. What counts as an answer is judged elsewhere."""
    if form.get(ACT) == DECLINE:
        return Given(declined=True)
    return check_given(_said(form, wording))


def _said(form: SentForm, wording: Wording) -> dict[str, Any]:
    if wording.kind is QuestionKind.FORM:
        return {"fields": _fields(form, wording.form or {})}
    if text := form.get(TEXT).strip():
        return {"text": text}
    if wording.multiple:
        return {"selected": form.all(VALUE)}
    if value := form.get(VALUE):
        return {"value": value}
    raise ValidationError.of([FieldError("answer", "choose or write something first", "required")])


def _fields(form: SentForm, schema: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in properties(schema).items():
        sent = [value.strip() for value in form.all(FIELD + name) if value.strip()]
        if sent:
            found[name] = sent if field["type"] == "array" else field_value(field, sent[0])
    return found
