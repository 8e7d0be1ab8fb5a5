"""An absence is read as it was written, and a circle of delegates is refused."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.errors import ValidationError
from postroom.work.attention.absence import Absence, absence_mapping, parse_absence

WEEK = {"from": "2026-01-05T00:00:00.000000Z", "until": "2026-01-12T00:00:00.000000Z"}
LATER = {"from": "2026-02-05T00:00:00Z", "until": "2026-02-12T00:00:00Z"}
PEOPLE = {"ada", "grace", "eve"}


def parse(written: Any, absences: dict[str, tuple[Absence, ...]] | None = None) -> Absence:
    return parse_absence(written, person="ada", people=PEOPLE, absences=absences or {})


@pytest.mark.parametrize(
    "written", [WEEK, {**WEEK, "delegate": "grace", "let_pass": ["time_sensitive"], "categories": ["chat"]}]
)
def test_it_is_written_back_as_it_was_read(written: dict[str, Any]) -> None:
    assert absence_mapping(parse(written)) == written


@pytest.mark.requirement("attention:delegate-cycle-refused")
def test_delegates_who_would_stand_in_for_each_other_are_refused() -> None:
    grace = parse_absence({**WEEK, "delegate": "eve"}, person="grace", people=PEOPLE, absences={})
    eve = parse_absence({**WEEK, "delegate": "ada"}, person="eve", people=PEOPLE, absences={})

    with pytest.raises(ValidationError) as refused:
        parse({**WEEK, "delegate": "grace"}, {"grace": (grace,), "eve": (eve,)})

    assert [(one.field, one.code) for one in refused.value.fields] == [("delegate", "cycle")]
    assert parse({**LATER, "delegate": "grace"}, {"grace": (grace,), "eve": (eve,)}).delegate == "grace"


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"delegate": "ada"}, "delegate", "cycle"),
        ({"delegate": "bob"}, "delegate", "unknown_person"),
        ({"until": "2026-01-05T00:00:00Z"}, "until", "invalid"),
        ({"from": "monday"}, "from", "invalid"),
        ({"let_pass": ["loud"]}, "let_pass", "not_allowed"),
        ({"why": "sun"}, "why", "unknown_field"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], field: str, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse({**WEEK, **change})

    assert (field, code) in [(one.field, one.code) for one in refused.value.fields]
