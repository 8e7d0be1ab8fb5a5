"""Forms: a flat JSON Schema as MCP elicitation allows it, and the values that fit it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.fields import json_size, printable, text_problem
from postroom.kernel.values.ids import parse_text

_MAX_FORM_FIELDS: Final = 20
_MAX_CHOICES: Final = 100
_MAX_FORM_BYTES: Final = 32 * 1024
_MAX_NAME_CHARACTERS: Final = 64
_NAME: Final = re.compile(r"[^\s:][^\n:]*")
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_COMMON: Final = {"type", "title", "description", "default"}
_CHOICE_KEYS: Final = {"enum", "enumNames", "oneOf"}
_KEYS: Final[dict[str, set[str]]] = {
    "string": _COMMON | {"minLength", "maxLength", "format"} | _CHOICE_KEYS,
    "number": _COMMON | {"minimum", "maximum"},
    "integer": _COMMON | {"minimum", "maximum"},
    "boolean": _COMMON,
    "array": _COMMON | {"items", "minItems", "maxItems"},
}
_FORMATS: Final = ("email", "uri", "date", "date-time")
_YES_OR_NO: Final = (("true", "Yes"), ("false", "No"))
_BOUNDS: Final = ("minLength", "maxLength", "minItems", "maxItems")


def form_problems(form: object) -> list[FieldError]:
    """All that is wrong with a form, each at its own path."""
    if not isinstance(form, Mapping):
        return [FieldError("form", "must be an object", "object_required")]
    size = json_size(form)
    if size is None or size > _MAX_FORM_BYTES:
        return [FieldError("form", f"must be JSON of at most {_MAX_FORM_BYTES:,} bytes", "too_long")]
    return list(_form_problems(form))


def _form_problems(form: Mapping[str, Any]) -> Iterator[FieldError]:
    known = {"type", "properties", "required", "$schema", "title", "description", "additionalProperties"}
    for name in [name for name in form if name not in known][:_MAX_FORM_FIELDS]:
        yield FieldError(f"form.{printable(name)}", "is not allowed in a flat form", "not_allowed")
    if form.get("type") != "object":
        yield FieldError("form.type", 'must be "object"', "not_allowed")
    properties = form.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        yield FieldError("form.properties", "must name at least one field", "required")
        return
    if len(properties) > _MAX_FORM_FIELDS:
        yield FieldError("form.properties", f"must have at most {_MAX_FORM_FIELDS} fields", "too_many")
        return
    for name, field in properties.items():
        yield from _property_problems(str(name), field)
    required = form.get("required", [])
    if not isinstance(required, list) or any(name not in properties for name in map(str, required)):
        yield FieldError("form.required", "must list names of fields in form.properties", "not_allowed")


def _property_problems(name: str, field: object) -> Iterator[FieldError]:
    path = f"form.properties.{printable(name)}"
    if len(name) > _MAX_NAME_CHARACTERS or not _NAME.fullmatch(name) or text_problem(name):
        yield FieldError(path, f"a name has at most {_MAX_NAME_CHARACTERS} characters and no colon", "invalid_text")
    if not isinstance(field, Mapping):
        yield FieldError(path, "must be an object", "object_required")
        return
    kind = field.get("type")
    if not isinstance(kind, str) or kind not in _KEYS:
        yield FieldError(f"{path}.type", f"must be one of {', '.join(_KEYS)}", "not_allowed")
        return
    for key in [key for key in field if key not in _KEYS[kind]]:
        yield FieldError(f"{path}.{printable(key)}", f"is not allowed for a {kind}", "not_allowed")
    yield from _value_problems(path, kind, field)


def _value_problems(path: str, kind: str, field: Mapping[str, Any]) -> Iterator[FieldError]:
    for key in ("title", "description"):
        value = field.get(key, "")
        if not isinstance(value, str) or text_problem(value):
            yield FieldError(f"{path}.{key}", "must be a string", "string_required")
    for key in _BOUNDS:
        value = field.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            yield FieldError(f"{path}.{key}", "must be a whole number of 0 or more", "invalid")
    for key in ("minimum", "maximum"):
        if not _is_number(field.get(key, 0)):
            yield FieldError(f"{path}.{key}", "must be a number", "invalid")
    if "format" in field and field["format"] not in _FORMATS:
        yield FieldError(f"{path}.format", f"must be one of {', '.join(_FORMATS)}", "not_allowed")
    has_choices = kind == "array" or _CHOICE_KEYS & set(field)
    if has_choices and not _are_choices(choices(field)):
        yield FieldError(path, f"must offer 1 to {_MAX_CHOICES} different texts to choose from", "invalid")


def _are_choices(offered: list[tuple[Any, Any]]) -> bool:
    words = [word for pair in offered for word in pair]
    if not all(isinstance(word, str) and word.strip() and not text_problem(word) for word in words):
        return False
    return 1 <= len(offered) <= _MAX_CHOICES and len({value for value, _ in offered}) == len(offered)


def choices(field: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """What may be chosen in this field: each value with its title; empty when anything may be said."""
    holder = field.get("items") if field.get("type") == "array" else field
    if not isinstance(holder, Mapping):
        return []
    titled = holder.get("oneOf", holder.get("anyOf"))
    if isinstance(titled, list):
        pairs = [one if isinstance(one, Mapping) else {} for one in titled]
        return [(one.get("const"), one.get("title", one.get("const"))) for one in pairs]
    values = holder.get("enum")
    if not isinstance(values, list):
        return []
    names = holder.get("enumNames")
    return list(zip(values, names if isinstance(names, list) and len(names) == len(values) else values, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field of a form that is in order; `choices` are values with their titles, none when anything may be said."""

    name: str
    kind: str
    title: str
    description: str
    format: str
    choices: tuple[tuple[str, str], ...]
    default: Any
    is_required: bool
    minimum: float | None
    maximum: float | None
    shortest: int
    longest: int | None
    fewest: int
    most: int | None

    @property
    def offered(self) -> tuple[tuple[str, str], ...]:
        """What a screen lets a person pick."""
        return _YES_OR_NO if self.kind == "boolean" else self.choices

    @property
    def at_first(self) -> tuple[str, ...]:
        """The default as a screen shows it."""
        match self.default:
            case None:
                return ()
            case bool() as flag:
                return ("true" if flag else "false",)
            case list() as several:
                return tuple(map(str, several))
            case one:
                return (str(one),)


def form_fields(form: Mapping[str, Any] | None) -> tuple[FormField, ...]:
    """None for a question that is no form."""
    if not form:
        return ()
    required = form.get("required", ())
    return tuple(
        FormField(
            name=name,
            kind=field["type"],
            title=str(field.get("title") or name),
            description=str(field.get("description", "")),
            format=str(field.get("format", "")),
            choices=tuple((str(value), str(title)) for value, title in choices(field)),
            default=field.get("default"),
            is_required=name in required,
            minimum=field.get("minimum"),
            maximum=field.get("maximum"),
            shortest=field.get("minLength", 0),
            longest=field.get("maxLength"),
            fewest=field.get("minItems", 0),
            most=field.get("maxItems"),
        )
        for name, field in form["properties"].items()
    )


def value_problems(form: Mapping[str, Any], values: Mapping[str, Any]) -> list[FieldError]:
    """What keeps these values from being an answer; never repeats them."""
    fields = {one.name: one for one in form_fields(form)}
    unknown = [FieldError(printable(name), "unknown field", "unknown_field") for name in values if name not in fields]
    missing = [name for name in form.get("required", ()) if values.get(name) in (None, "")]
    given = [(fields[name], value) for name, value in values.items() if name in fields and name not in missing]
    wrong = [FieldError(one.name, problem, "invalid") for one, value in given if (problem := _problem(one, value))]
    absent = [FieldError(name, "is required", "required") for name in missing]
    return [*unknown[:_MAX_FORM_FIELDS], *absent, *wrong]


def _problem(field: FormField, value: Any) -> str | None:
    match field.kind:
        case "string":
            return _string_problem(field, value)
        case "boolean":
            return None if isinstance(value, bool) else "must be yes or no"
        case "array":
            return _array_problem(field, value)
        case _:
            return _number_problem(field, value)


def _string_problem(field: FormField, value: Any) -> str | None:
    if not isinstance(value, str) or text_problem(value):
        return "must be text"
    if field.choices:
        return None if value in [one for one, _ in field.choices] else _one_of(field.choices)
    if len(value) < field.shortest:
        return f"must have at least {field.shortest} characters"
    if field.longest is not None and len(value) > field.longest:
        return f"must have at most {field.longest} characters"
    return _format_problem(field.format, value)


def _format_problem(form: str, value: str) -> str | None:
    match form:
        case "email":
            return None if _EMAIL.fullmatch(value) else "must be an e-mail address"
        case "uri":
            return None if _is_address(value) else "must be a web address"
        case "date":
            return None if _parses(date.fromisoformat, value) else "must be a date like 2026-12-24"
        case "date-time":
            return None if _parses(parse_text, value) else "must be a time like 2026-12-24T18:00:00+01:00"
        case _:
            return None


def _number_problem(field: FormField, value: Any) -> str | None:
    if field.kind == "integer" and (not isinstance(value, int) or isinstance(value, bool)):
        return "must be a whole number"
    if not _is_number(value):
        return "must be a number"
    if field.minimum is not None and value < field.minimum:
        return f"must be at least {field.minimum}"
    return f"must be at most {field.maximum}" if field.maximum is not None and value > field.maximum else None


def _array_problem(field: FormField, value: Any) -> str | None:
    values = [one for one, _ in field.choices]
    if not isinstance(value, list) or any(one not in values for one in value) or len(set(value)) != len(value):
        return _one_of(field.choices).replace("one of", "some of", 1)
    if len(value) < field.fewest:
        return f"must have at least {field.fewest} of them"
    return f"must have at most {field.most} of them" if field.most is not None and len(value) > field.most else None


def _one_of(offered: Iterable[tuple[str, str]]) -> str:
    return f"must be one of {', '.join(title for _, title in offered)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 1e308


def _is_address(value: str) -> bool:
    return _parses(urlsplit, value) and bool(urlsplit(value).scheme) and not re.search(r"\s", value)


def _parses(parse: Callable[[str], object], value: str) -> bool:
    try:
        parse(value)
    except ValueError:
        return False
    return True
