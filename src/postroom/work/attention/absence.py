"""When a person is away, and who stands in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from postroom.domain.question import Urgency


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """
    Half-open in absolute time. Without a delegate everything waits until the end.

    `let_pass`: still shown to the person. `categories`: what the delegate may see; None is everything.
    """

    start_us: int
    end_us: int
    delegate: str | None = None
    let_pass: tuple[Urgency, ...] = ()
    categories: tuple[str, ...] | None = None


def parse_absence(
    payload: object, *, person: str, people: Collection[str], absences: Mapping[str, tuple[Absence, ...]]
) -> Absence:
    """Raises ValidationError for what is wrong, and for delegates who stand in for each other at one time."""
    raise NotImplementedError


def absence_mapping(absence: Absence) -> dict[str, Any]:
    """The same keys that `parse_absence` reads."""
    raise NotImplementedError
