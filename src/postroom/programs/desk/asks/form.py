"""A flat JSON Schema as lines to fill in, and what was filled in as the values it wants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from postroom.programs.desk.wire import FormField

Filled = Mapping[str, Sequence[str]]
_YES_OR_NO: Final = (("true", "Yes"), ("false", "No"))


def form_fields(form: Mapping[str, Any], filled: Filled | None = None) -> tuple[FormField, ...]:
    """With what was filled in before, otherwise with the form's own defaults."""
    required = form.get("required", [])
    return tuple(
        FormField(
            name=name,
            label=str(field.get("title") or name),
            hint=_hint(field),
            required=name in required,
            choices=_choices(field),
            several=field.get("type") == "array",
            value=_default(field) if filled is None else tuple(filled.get(name, ())),
        )
        for name, field in form["properties"].items()
    )


def form_values(form: Mapping[str, Any], filled: Filled) -> dict[str, Any]:
    """What cannot be read stays as it was typed: the household says what is wrong with it."""
    return {name: _value(field, filled[name]) for name, field in form["properties"].items() if filled.get(name)}


def in_labels(form: Mapping[str, Any], words: str) -> str:
    """What the household says about a field, with the name that the person reads."""
    for name, field in form["properties"].items():
        found = re.search(rf"(?<!\w){re.escape(name)}: ", words)
        if found:
            words = f"{words[: found.start()]}{field.get('title') or name}: {words[found.end() :]}"
    return words


def _value(field: Mapping[str, Any], given: Sequence[str]) -> Any:
    match field.get("type"):
        case "array":
            return list(given)
        case "boolean":
            return given[0] == "true"
        case "integer" | "number":
            return _number(given[0].strip())
        case _:
            return given[0]


def _number(words: str) -> int | float | str:
    for read in (int, float):
        try:
            return read(words)
        except ValueError:
            continue
    return words


def _choices(field: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    if field.get("type") == "boolean":
        return _YES_OR_NO
    holder = field.get("items", {}) if field.get("type") == "array" else field
    titled = holder.get("oneOf", holder.get("anyOf"))
    if titled:
        return tuple((str(one["const"]), str(one.get("title", one["const"]))) for one in titled)
    values = holder.get("enum", ())
    names = holder.get("enumNames", ())
    return tuple(zip(map(str, values), map(str, names if len(names) == len(values) else values), strict=True))


def _default(field: Mapping[str, Any]) -> tuple[str, ...]:
    match field.get("default"):
        case None:
            return ()
        case bool() as flag:
            return ("true" if flag else "false",)
        case list() as several:
            return tuple(map(str, several))
        case one:
            return (str(one),)


def _hint(field: Mapping[str, Any]) -> str:
    """The asker's words, then what the field takes, where that is not plain to see."""
    kind, low, high = field.get("type"), field.get("minimum"), field.get("maximum")
    takes = {"integer": "A whole number", "number": "A number"}.get(str(kind), "")
    if takes and low is not None and high is not None:
        takes += f" from {low} to {high}"
    elif takes and (low is not None or high is not None):
        takes += f" of at least {low}" if low is not None else f" of at most {high}"
    formats = {"email": "An e-mail address", "uri": "A web address", "date": "As 2026-01-31"}
    formats["date-time"] = "As 2026-01-31T14:30:00Z"
    takes = takes or formats.get(str(field.get("format")), "")
    return ". ".join(filter(None, [str(field.get("description") or "").rstrip(". "), takes]))
