"""Names that are known: what a caller wrote wrongly is named, with the nearest that exists."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.fields import printable
from postroom.domain.nearest import did_you_mean

_MOST_UNKNOWN: Final = 20


def known_fields(asked: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Raises ValidationError; an absent value and a null are the same."""
    if unknown := [name for name in asked if name not in known][:_MOST_UNKNOWN]:
        raise ValidationError.of(
            [FieldError(printable(one), f"unknown field{did_you_mean(one, known)}", "unknown_field") for one in unknown]
        )
    return {name: value for name, value in asked.items() if value is not None}
