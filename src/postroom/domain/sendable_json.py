"""Which JSON can be sent on."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Final

from postroom.domain.errors import FieldError
from postroom.domain.fields import printable, text_problem

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
