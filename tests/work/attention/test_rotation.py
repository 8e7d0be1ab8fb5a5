"""Who is on duty, over clock changes, overrides and gaps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.work.attention.sample import at

from postroom.domain.errors import ValidationError
from postroom.work.attention.rotation import on_duty, parse_rotation

WEEKLY = {"anchor": "2026-03-23T09:00", "zone": "Europe/Vienna", "every_days": 7, "people": ["ada", "grace"]}
OVERRIDE = {"from": "2026-03-24T00:00:00Z", "until": "2026-03-25T00:00:00Z", "person": "eve"}


@pytest.mark.requirement("attention:rotation")
@pytest.mark.parametrize(
    ("moment", "person"),
    [
        ("2026-03-23T08:59", None),
        ("2026-03-23T09:00", "ada"),
        ("2026-03-30T08:59", "ada"),  # the clock changed on the 29th
        ("2026-03-30T09:00", "grace"),
        ("2026-04-06T09:00", "ada"),
        ("2027-03-22T09:00", "ada"),
    ],
)
def test_people_take_turns_at_the_same_hour_of_the_wall_clock(moment: str, person: str | None) -> None:
    assert on_duty(parse_rotation(WEEKLY), at(moment, "Europe/Vienna")) == person


@pytest.mark.requirement("attention:rotation")
def test_an_override_wins_while_it_lasts() -> None:
    rotation = parse_rotation({**WEEKLY, "overrides": [OVERRIDE]})

    assert [on_duty(rotation, at(day)) for day in ("2026-03-24T00:00", "2026-03-25T00:00")] == ["eve", "ada"]


@pytest.mark.requirement("attention:rotation")
def test_a_handover_in_the_hour_that_is_not_happens_at_the_jump() -> None:
    rotation = parse_rotation({**WEEKLY, "anchor": "2026-03-22T02:30"})

    assert on_duty(rotation, at("2026-03-29T01:59", "Europe/Vienna")) == "ada"
    assert on_duty(rotation, at("2026-03-29T03:00", "Europe/Vienna")) == "grace"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"anchor": "soon"}, "anchor"),
        ({"anchor": "2026-03-23T09:00Z"}, "anchor"),
        ({"zone": "Vienna"}, "zone"),
        ({"every_days": 0}, "every_days"),
        ({"people": ["ada", "eve"]}, "people.1"),
        ({"people": "ada"}, "people"),
        ({"overrides": [{**OVERRIDE, "until": "2026-03-24T00:00:00Z", "person": "ada"}]}, "overrides.0.until"),
        ({"layers": []}, "layers"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_rotation({**WEEKLY, **change}, people={"ada", "grace"})

    assert [one.field for one in refused.value.fields] == [field]
