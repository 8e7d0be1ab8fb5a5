"""JSON and text that every store can keep and every reader can read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.fields import printable, text_problem

# Text that every store can keep, made of text that some cannot.

_REPLACEMENT: Final = "\ufffd"


def storable(text: str) -> str:
    """
    A NUL and half a surrogate pair become U+FFFD; two halves that belong together become their character.

    For what a model said, which cannot be refused any more. An argument that comes
    through a door is refused with its field instead (`fields.text_problem`).
    """
    if text_problem(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\x00", _REPLACEMENT)


# JSON that every reader can read: Python would write NaN and Infinity, which JSON does not have.


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
    if isinstance(value, float) and not isfinite(value):
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
