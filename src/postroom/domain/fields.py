"""Read an untrusted object field by field, keeping every complaint."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Set
from typing import Any, Final

from postroom.domain.errors import FieldError, ValidationError

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
            self.complain(name, "must be a string", "string_required")
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

    def choice(self, name: str, allowed: Collection[str], *, default: str | None = None) -> str:
        value = self._data.get(name)
        if value is None and default is not None:
            return default
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
