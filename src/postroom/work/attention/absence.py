"""When a person is away, and who stands in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.attention import URGENCIES
from postroom.domain.fields import Fields
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import to_text
from postroom.work.attention.rotation import moment

_KEYS: Final = ("from", "until", "delegate", "let_pass", "categories")


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """
    Half-open in absolute time. Without a delegate everything waits until the end.

    `let_pass`: still shown to the person. `categories`: what the delegate may see, None for everything; the rest waits.
    """

    start_us: int
    end_us: int
    delegate: str | None = None
    let_pass: tuple[Urgency, ...] = ()
    categories: tuple[str, ...] | None = None

    def covers(self, at_us: int) -> bool:
        return self.start_us <= at_us < self.end_us

    def delegates(self, category: str | None) -> bool:
        return self.delegate is not None and (self.categories is None or category in self.categories)


def parse_absence(
    payload: object,
    *,
    person: str,
    people: Collection[str],
    absences: Mapping[str, tuple[Absence, ...]],
) -> Absence:
    """Raises ValidationError for what is wrong, and for delegates who would stand in for each other."""
    given = Fields(payload, whole="away")
    given.refuse_unknown(_KEYS)
    absence = Absence(
        start_us=moment(given, "from"),
        end_us=moment(given, "until"),
        delegate=given.optional_text("delegate", maximum=200),
        let_pass=tuple(Urgency(one) for one in _list_of(given, "let_pass", URGENCIES)),
        categories=tuple(_list_of(given, "categories")) if given.has("categories") else None,
    )
    if absence.start_us >= absence.end_us and not given.complaints:
        given.complain("until", "must lie after from", "invalid")
    if problem := _delegate_problem(absence, person, people, absences):
        given.complain("delegate", *problem)
    given.finish()
    return absence


def absence_mapping(absence: Absence) -> dict[str, Any]:
    """The same keys that `parse_absence` reads."""
    optional = {
        "delegate": absence.delegate,
        "let_pass": [str(one) for one in absence.let_pass] or None,
        "categories": list(absence.categories) if absence.categories is not None else None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {"from": to_text(absence.start_us), "until": to_text(absence.end_us), **given}


def _list_of(given: Fields, name: str, allowed: Collection[str] | None = None) -> list[str]:
    value = given.raw(name)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(one, str) and (not allowed or one in allowed) for one in value):
        return value
    given.complain(name, f"must be a list of {', '.join(allowed) if allowed else 'names'}", "not_allowed")
    return []


def _delegate_problem(
    absence: Absence, person: str, people: Collection[str], absences: Mapping[str, tuple[Absence, ...]]
) -> tuple[str, str] | None:
    """What is handed on is not handed on again, so a circle would leave a notice with no one."""
    if absence.delegate is None:
        return None
    if absence.delegate not in people:
        return "is no person that is known here", "unknown_person"
    seen = {person}
    current: str | None = absence.delegate
    while current is not None:
        if current in seen:
            return "would stand in for each other in a circle", "cycle"
        seen.add(current)
        current = _delegate_of(absences.get(current, ()), absence)
    return None


def _delegate_of(absences: tuple[Absence, ...], during: Absence) -> str | None:
    meeting = (one for one in absences if one.start_us < during.end_us and during.start_us < one.end_us)
    return next((one.delegate for one in meeting if one.delegate is not None), None)
