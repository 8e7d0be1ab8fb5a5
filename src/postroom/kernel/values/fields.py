"""What is wrong with what a caller wrote, field by field, in our words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Set
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any, Final, TypeVar

from postroom.kernel.values.errors import FieldError, ValidationError

# The valid name that somebody who mistyped one probably meant.


def nearest(word: str, known: Iterable[str]) -> str | None:
    by_form = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), by_form, n=1, cutoff=0.5)
    return by_form[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """How a sentence about an unknown name ends."""
    found = nearest(word, known)
    return f", did you mean '{found}'?" if found else "."


# What is wrong with a field, in our words: the library's would repeat what was sent and point to its own pages.

_PLACES: Final = ("body", "query", "path", "header")
_FAULTS: Final = {
    "missing": ("required", "is required"),
    "extra_forbidden": ("unknown_field", "unknown field"),
    "string_type": ("string_required", "must be text"),
    "string_unicode": ("invalid", "is not valid Unicode"),
    "string_pattern_mismatch": ("invalid", "does not have the right form"),
    "string_too_short": ("too_short", "must have at least {min_length} characters"),
    "string_too_long": ("too_long", "must have at most {max_length} characters"),
    "too_short": ("too_short", "must have at least {min_length} {things}"),
    "too_long": ("too_long", "must have at most {max_length} {things}"),
    "literal_error": ("not_allowed", "must be one of {expected}"),
    "enum": ("not_allowed", "must be one of {expected}"),
    "greater_than_equal": ("out_of_range", "must be at least {ge}"),
    "greater_than": ("out_of_range", "must be more than {gt}"),
    "less_than_equal": ("out_of_range", "must be at most {le}"),
    "less_than": ("out_of_range", "must be less than {lt}"),
    "bool_type": ("bool_required", "must be true or false"),
    "bool_parsing": ("bool_required", "must be true or false"),
    "int_type": ("number_required", "must be a whole number"),
    "int_parsing": ("number_required", "must be a whole number"),
    "int_from_float": ("number_required", "must be a whole number"),
    "int_parsing_size": ("invalid", "is too large a number"),
    "float_type": ("number_required", "must be a number"),
    "float_parsing": ("number_required", "must be a number"),
    "finite_number": ("invalid", "must be a finite number"),
    "dict_type": ("object_required", "must be an object"),
    "model_type": ("object_required", "must be an object"),
    "model_attributes_type": ("object_required", "must be an object"),
    "list_type": ("list_required", "must be a list"),
    "tuple_type": ("list_required", "must be a list"),
}
"""What the library calls a fault: what every answer of ours calls it, and says of it."""
_UNFORESEEN: Final = ("invalid", "is not valid")
_OWN_CODES: Final = frozenset(
    {"blank", "invalid", "invalid_text", "out_of_range", "not_allowed", "in_the_past", "required"}
)
"""Of our own checks, which say themselves what is wrong."""


def field_error(item: Mapping[str, Any]) -> FieldError:
    """`item` is one of pydantic's errors; the field is named as the caller wrote it."""
    place = item["loc"][1:] if item["loc"] and item["loc"][0] in _PLACES else item["loc"]
    path = ".".join(printable(part) for part in place)
    kind = str(item["type"])
    code = kind if kind in _OWN_CODES else _FAULTS.get(kind, _UNFORESEEN)[0]
    return FieldError(path or str(item["loc"][0] if item["loc"] else "body"), words(item), code)


def words(item: Mapping[str, Any]) -> str:
    kind, context = str(item["type"]), item.get("ctx") or {}
    if kind in _OWN_CODES:
        return str(item["msg"])
    if kind == "value_error" and isinstance(context.get("error"), ValueError):
        return str(context["error"])
    bounds = {name: str(_plain(bound)).replace("'", "") for name, bound in context.items()}
    # A text that may be absent is measured by the library as if it were a list.
    things = "characters" if isinstance(item.get("input"), str) else "items"
    try:
        return _FAULTS.get(kind, _UNFORESEEN)[1].format_map({**bounds, "things": things})
    except KeyError:  # a version of the library that tells no bound
        return _UNFORESEEN[1]


def _plain(bound: object) -> object:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


# Read an untrusted object field by field, keeping every complaint.

_OBJECTS: Final = (dict, Mapping)  # what nearly all of them are is asked first: it costs a tenth
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_MOST_UNKNOWN: Final = 20  # a payload of nothing but unknown fields must not make a longer answer than itself


class Fields:
    """
    Wraps one level of an untrusted payload.

    All levels share the list of complaints, so the caller learns everything
    that is wrong at once and then calls `finish`.
    """

    def __init__(
        self, payload: object, path: str = "", complaints: list[FieldError] | None = None, *, whole: str = "body"
    ) -> None:
        """`whole` is what the caller calls the payload itself."""
        self._whole = whole
        self.complaints = complaints if complaints is not None else []
        self._path = path
        self._data: Mapping[str, Any] = {}
        if isinstance(payload, _OBJECTS):
            self._data = payload
        else:
            self.complain(None, "must be an object", "object_required")

    def path(self, name: str | None) -> str:
        return f"{self._path}.{name}" if self._path and name else self._path or name or self._whole

    def complain(self, name: str | None, error: str, code: str) -> None:
        self.complaints.append(FieldError(self.path(name), error, code))

    def refuse_unknown(self, known: Collection[str]) -> None:
        unknown = [name for name in self._data if name not in known]
        for name in unknown[:_MOST_UNKNOWN]:
            self.complain(printable(name), "unknown field", "unknown_field")
        if len(unknown) > _MOST_UNKNOWN:
            self.complain(None, f"{len(unknown) - _MOST_UNKNOWN} more unknown fields", "unknown_field")

    def has(self, name: str) -> bool:
        return self._data.get(name) is not None

    def has_any(self, names: Collection[str]) -> bool:
        return not self._data.keys().isdisjoint(names) and any(self.has(name) for name in names)

    def those_of(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self._data.get(name) is not None]

    def raw(self, name: str) -> Any:
        return self._data.get(name)

    def nested(self, name: str) -> Fields:
        """Of what is no object that is all that needs to be said: its own fields complain to nobody."""
        inner = self._data.get(name)
        if isinstance(inner, _OBJECTS):
            return Fields(inner, self.path(name), self.complaints)
        self.complain(name, "must be an object", "object_required")
        return Fields({}, self.path(name))

    def text(self, name: str, *, maximum: int, required: bool = True, blank: bool = False) -> str:
        """The text as it came, or '' when it is absent or wrong (which is then on the list)."""
        value = self._data.get(name)
        if value is None:
            if required:
                self.complain(name, "is required", "required")
            return ""
        if not isinstance(value, str):
            self.complain(name, "must be text", "string_required")
            return ""
        if problem := text_problem(value):
            self.complain(name, problem, "invalid_text")
            return ""
        if not blank and not value.strip():
            self.complain(name, "must not be blank", "blank")
            return ""
        if len(value) > maximum:
            self.complain(name, f"must have at most {maximum} characters", "too_long")
            return ""
        return value

    def optional_text(self, name: str, *, maximum: int) -> str | None:
        if self._data.get(name) is None:
            return None
        return self.text(name, maximum=maximum, required=False).strip() or None

    def choice(self, name: str, allowed: Collection[str]) -> str:
        value = self._data.get(name)
        if isinstance(value, str) and value in allowed:
            return value
        options = ", ".join(sorted(allowed) if isinstance(allowed, Set) else allowed)
        if value is None:
            self.complain(name, f"is required: one of {options}", "required")
        else:
            self.complain(name, f"must be one of {options}", "not_allowed")
        return ""

    def finish(self) -> None:
        if self.complaints:
            raise ValidationError.of(self.complaints)


def text_problem(value: str) -> str | None:
    """Characters that no store and no provider could carry unchanged."""
    if "\x00" in value:
        return "must not contain NUL"
    if value.isascii():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return "is not valid Unicode"
    return None


def printable(name: object) -> str:
    """A field name that came from outside, safe to repeat in an answer and to keep."""
    shown = str(name)[:80].encode("ascii", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", shown)[:80]


# Where a port of some machine is on the web.


def in_url(host: str) -> str:
    """The colons of an IPv6 address would be taken for that of the port."""
    return f"[{host}]" if ":" in host else host


def web_address(host: str, port: int) -> str:
    return f"http://{in_url(host)}:{port}"


def is_loopback(host: str) -> bool:
    """Reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# Text that every store can keep, made of text that some cannot.

_REPLACEMENT: Final = "\ufffd"


def storable(text: str) -> str:
    """
    A NUL and half a surrogate pair become U+FFFD; two halves that belong together become their character.

    For what a model said, which cannot be refused any more. An argument that comes
    through a door is refused with its field instead (`text_problem`).
    """
    if text_problem(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\x00", _REPLACEMENT)


# JSON that every reader can read: Python would write NaN and Infinity, which JSON does not have.

Document = dict[str, Any]
"""What is said in JSON at a door, or was written there."""
_Value = TypeVar("_Value")


def without_none(values: Mapping[str, _Value | None]) -> dict[str, _Value]:
    """What is not set is left out."""
    return {name: value for name, value in values.items() if value is not None}


def strict_json(value: Any, **how: Any) -> str:
    """What is no number becomes null; everything else is written as it is."""
    try:
        return json.dumps(value, allow_nan=False, **how)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, **how)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


# How long something is as JSON, when it can be said in JSON at all.


def json_size(value: object) -> int | None:
    """In bytes; None when JSON, or a text that can be kept, cannot say it."""
    try:
        return len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError):
        return None


# Which JSON can be sent on.

MAX_DEPTH: Final = 32  # more is nothing anybody says, and more than every reader on the way can be sure to follow


def unsendable(value: object, path: str, depth: int = 0) -> list[FieldError]:
    """What no store and no provider could carry, anywhere in the document."""
    if depth > MAX_DEPTH:
        return [FieldError(path or "body", f"must not be nested more than {MAX_DEPTH} deep", "too_deep")]
    if isinstance(value, str):
        problem = text_problem(value)
        return [FieldError(path or "body", problem, "invalid_text")] if problem else []
    if isinstance(value, float) and not math.isfinite(value):
        return [FieldError(path or "body", "must be a finite number", "finite_number")]
    found: list[FieldError] = []
    if isinstance(value, Mapping):
        for key, one in value.items():
            place = f"{path}.{printable(key)}" if path else printable(key)
            found += unsendable(str(key), place, depth) + unsendable(one, place, depth + 1)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            found += unsendable(one, f"{path}[{number}]", depth + 1)
    return found
