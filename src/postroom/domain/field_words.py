"""What is wrong with a field, in our words: the library's would repeat what was sent and point to its own pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.errors import FieldError
from postroom.domain.fields import printable

_PLACES: Final = ("body", "query", "path", "header")
_PLAIN: Final = {
    "missing": "is required",
    "extra_forbidden": "unknown field",
    "string_type": "must be text",
    "string_unicode": "is not valid Unicode",
    "string_pattern_mismatch": "does not have the right form",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
}
_BOUNDS: Final = {
    "greater_than_equal": ("ge", "must be at least {}"),
    "greater_than": ("gt", "must be more than {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "less_than": ("lt", "must be less than {}"),
    "literal_error": ("expected", "must be one of {}"),
    "enum": ("expected", "must be one of {}"),
    "string_too_short": ("min_length", "must have at least {} characters"),
    "string_too_long": ("max_length", "must have at most {} characters"),
}
_LENGTHS: Final = {"too_short": ("min_length", "at least"), "too_long": ("max_length", "at most")}


def field_error(item: Mapping[str, Any]) -> FieldError:
    """`item` is one of pydantic's errors; the field is named as the caller wrote it."""
    place = item["loc"][1:] if item["loc"] and item["loc"][0] in _PLACES else item["loc"]
    path = ".".join(printable(part) for part in place)
    return FieldError(path or str(item["loc"][0] if item["loc"] else "body"), words(item), str(item["type"]))


def words(item: Mapping[str, Any]) -> str:
    code, context = str(item["type"]), item.get("ctx") or {}
    if code in _PLAIN:
        return _PLAIN[code]
    if code in _BOUNDS and _BOUNDS[code][0] in context:
        name, sentence = _BOUNDS[code]
        return sentence.format(str(_plain(context[name])).replace("'", ""))
    if code in _LENGTHS and _LENGTHS[code][0] in context:
        name, bound = _LENGTHS[code]
        return f"must have {bound} {context[name]} {_counted(item.get('input'))}"
    if code == "value_error" and isinstance(context.get("error"), ValueError):
        return str(context["error"])  # one of our own checks
    return "is not valid"


def _plain(bound: object) -> object:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _counted(value: object) -> str:
    """A text that may be absent is measured by the library as if it were a list."""
    return "characters" if isinstance(value, str) else "items"
