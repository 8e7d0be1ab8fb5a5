"""The fields of a form that a question asks to be filled in: as a page offers them, and as it sends them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from postroom.domain.question import Wording
from postroom.domain.wall_clock import known_zone
from postroom.doors.console.form import Form
from postroom.work.questions.form import choices, properties

_PREFIX: Final = "field."  # so that no name of a field is one of the page's own
_INPUTS: Final = {"email": "email", "uri": "url", "date": "date", "date-time": "datetime-local"}
_YES_OR_NO: Final = (("true", "Yes"), ("false", "No"))
_MOST_RADIOS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionField:
    """`shape` is how it is offered: radios, select, ticks, or an input of that type; `value` is what is in it."""

    name: str
    title: str
    hint: str
    shape: str
    offered: Sequence[tuple[str, str]] = ()
    is_required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    longest: int | None = None
    value: Sequence[str] = ()

    @property
    def html_name(self) -> str:
        return _PREFIX + self.name

    @property
    def text(self) -> str:
        return self.value[0] if self.value else ""


def form_fields(wording: Wording, zone: str, typed: Form | None = None) -> Sequence[QuestionField]:
    """Filled with what was typed before; at first with the form's own defaults. A secret is never filled in."""
    form = wording.form
    if form is None:
        return ()
    required = form.get("required", [])
    return [
        QuestionField(
            name=name,
            title=str(field.get("title") or name),
            hint=_hint(field, zone),
            shape=_shape(field, secret=wording.secret),
            offered=_offered(field),
            is_required=name in required,
            minimum=field.get("minimum"),
            maximum=field.get("maximum"),
            longest=field.get("maxLength"),
            value=_value(name, field, typed, secret=wording.secret),
        )
        for name, field in properties(form).items()
    ]


def given_fields(wording: Wording, form: Form, zone: str) -> dict[str, Any]:
    """What was filled in, typed as the form wants it; what cannot be read is left to the one who judges it."""
    found = {
        name: _read(field, form.all(_PREFIX + name), zone) for name, field in properties(wording.form or {}).items()
    }
    return {name: value for name, value in found.items() if value is not None}


def _shape(field: Mapping[str, Any], *, secret: bool) -> str:
    if field["type"] == "array":
        return "ticks"
    if offered := _offered(field):
        return "radios" if len(offered) <= _MOST_RADIOS else "select"
    if field["type"] in ("integer", "number"):
        return "number" if field["type"] == "integer" else "decimal"
    return "password" if secret else _INPUTS.get(field.get("format", ""), "text")


def _offered(field: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    if field["type"] == "boolean":
        return _YES_OR_NO
    return [(str(value), str(title)) for value, title in choices(field)]


def _hint(field: Mapping[str, Any], zone: str) -> str:
    whose = f"Time in {zone}." if field.get("format") == "date-time" else ""
    return " ".join(filter(None, [str(field.get("description", "")), whose]))


def _value(name: str, field: Mapping[str, Any], typed: Form | None, *, secret: bool) -> Sequence[str]:
    if secret:
        return ()
    if typed is not None:
        return typed.all(_PREFIX + name)
    default = field.get("default")
    if default is None:
        return ()
    if isinstance(default, bool):
        return ("true" if default else "false",)
    return [str(one) for one in default] if isinstance(default, list) else (str(default),)


def _read(field: Mapping[str, Any], words: Sequence[str], zone: str) -> Any:
    """None when it was left empty."""
    if field["type"] == "array":
        return list(words) or None
    text = words[-1] if words else ""
    if not text.strip():
        return None
    match field["type"]:
        case "boolean":
            return {"true": True, "false": False}.get(text, text)
        case "integer" | "number":
            return _number(text.strip(), whole=field["type"] == "integer")
        case _ if field.get("format") == "date-time":
            return _moment(text, zone)
        case _:
            return text


def _moment(text: str, zone: str) -> str:
    """A browser writes what the clock on the wall shows."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if at.tzinfo is not None else at.replace(tzinfo=known_zone(zone)).isoformat()


def _number(text: str, *, whole: bool) -> Any:
    try:
        return int(text) if whole or text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return text
