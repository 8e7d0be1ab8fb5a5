"""An answer as a signed-in person gives it, whichever door they come through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.answer_attempt import Said
from postroom.domain.fields import Fields
from postroom.work.questions.reading import MAX_ANSWER_CHARACTERS

_ANSWERS: Final = ("value", "text", "selected", "fields", "declined")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Exactly one of these; a protocol may bring a `comment` and `details` beside it."""

    value: str | None = None
    text: str | None = None
    selected: tuple[str, ...] | None = None
    fields: Mapping[str, Any] | None = None
    declined: bool = False
    comment: str | None = None
    details: Mapping[str, Any] | None = None

    @property
    def said(self) -> Said:
        return Said(
            value=self.value,
            text=self.text,
            selected=self.selected,
            fields=self.fields,
            declined=self.declined,
            comment=self.comment,
            details=self.details,
        )


def check_given(arguments: object) -> Given:
    """Raises ValidationError that names every wrong field as the caller wrote it."""
    fields = Fields(arguments)
    fields.refuse_unknown(_ANSWERS)
    named = [name for name in _ANSWERS if fields.has(name) and fields.raw(name) is not False]
    if not fields.complaints and len(named) != 1:
        fields.complain(None, f"give exactly one of {', '.join(_ANSWERS)}", "one_of")
    given = Given(
        value=fields.text("value", maximum=MAX_ANSWER_CHARACTERS) if fields.has("value") else None,
        text=fields.text("text", maximum=MAX_ANSWER_CHARACTERS) if fields.has("text") else None,
        selected=_selected(fields),
        fields=_fields(fields),
        declined=_declined(fields),
    )
    fields.finish()
    return given


def _selected(fields: Fields) -> tuple[str, ...] | None:
    value = fields.raw("selected")
    if value is None:
        return None
    if not _is_list_of_texts(value):
        fields.complain("selected", "must be a list of values", "list_required")
        return None
    return tuple(value)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, str) for one in value)


def _fields(fields: Fields) -> Mapping[str, Any] | None:
    value = fields.raw("fields")
    if value is not None and not isinstance(value, Mapping):
        fields.complain("fields", "must be an object", "object_required")
        return None
    return value


def _declined(fields: Fields) -> bool:
    value = fields.raw("declined")
    if value is not None and not isinstance(value, bool):
        fields.complain("declined", "must be true or false", "bool_required")
    return value is True
