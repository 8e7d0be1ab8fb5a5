"""
What may be asked for a message beside its text and its place: each argument is said once, as a field of a typed value.

    subject: str | None = text("Of an e-mail.", 500, is_line=True)

Of that line come the argument of `notify` at every door, its words, its bounds and its complaints, the field of
notify.v1 that carries it, and the attribute that the house works with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from postroom.kernel.values.fields import Fields

_ARGUMENT: Final = "argument"
_NO_LINE: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """`schema` is its form as callers see it; `read` takes it from a payload and complains of what is wrong."""

    words: str
    schema: Mapping[str, Any]
    read: Callable[[Fields, str], Any]
    default: Any
    beside: bool
    """It stands in the envelope itself and not in its `delivery`."""


def arguments_of(kind: type[Any]) -> Mapping[str, Argument]:
    return {one.name: one.metadata[_ARGUMENT] for one in fields(kind) if _ARGUMENT in one.metadata}


def given(arguments: Mapping[str, Argument], payload: Fields) -> dict[str, Any]:
    """What was said of them, as the value's own fields; what was not stays as it is by default."""
    return {name: arguments[name].read(payload, name) for name in payload.those_of(arguments)}


def written(arguments: Mapping[str, Argument], value: object) -> dict[str, Any]:
    """As `given` reads it; what is as it is by default is left out: nothing, false, or one word of a choice."""
    return {
        name: str(found) if isinstance(found, StrEnum) else found
        for name, one in arguments.items()
        if (found := getattr(value, name)) is not one.default
    }


def text(words: str, maximum: int, *, is_line: bool = False, beside: bool = False) -> Any:
    def read(payload: Fields, name: str) -> str | None:
        found = payload.optional_text(name, maximum=maximum)
        if is_line and found and _NO_LINE.search(found):
            payload.complain(name, "must be a single line", "line_break")
        return found

    return _said(words, {"type": "string", "maxLength": maximum}, read, beside=beside)


def choice(words: str, kind: type[StrEnum], default: StrEnum | None = None, *, beside: bool = False) -> Any:
    known = {str(one): one for one in kind}

    def read(payload: Fields, name: str) -> StrEnum | None:
        return known.get(payload.choice(name, known), default)

    return _said(words, {"type": "string", "enum": list(known)}, read, default, beside=beside)


def truth(words: str) -> Any:
    def read(payload: Fields, name: str) -> bool:
        found = payload.raw(name)
        if not isinstance(found, bool):
            payload.complain(name, "must be true or false", "boolean_required")
        return found is True

    return _said(words, {"type": "boolean"}, read, False)


def whole_number(words: str, least: int, most: int, unit: str) -> Any:
    def read(payload: Fields, name: str) -> int | None:
        found = payload.raw(name)
        if isinstance(found, int) and not isinstance(found, bool) and least <= found <= most:
            return found
        payload.complain(name, f"must be a whole number of {unit} from {least} to {most}", "out_of_range")
        return None

    return _said(words, {"type": "integer", "minimum": least, "maximum": most}, read)


def _said(
    words: str,
    schema: Mapping[str, Any],
    read: Callable[[Fields, str], Any],
    default: Any = None,
    *,
    beside: bool = False,
) -> Any:
    told = Argument(words=words, schema=schema, read=read, default=default, beside=beside)
    return field(default=default, metadata={_ARGUMENT: told})
