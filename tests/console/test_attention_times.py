"""Later, this evening, until midnight: by the clock of the person's zone."""

from __future__ import annotations

import pytest

from postroom.attention.pages.shown import end_of_today, later, this_evening, typed_moment
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import parse_text

ZONE = "Europe/Vienna"
NOON = parse_text("2026-07-01T10:00:00Z")
NIGHT = parse_text("2026-07-01T21:30:00Z")


@pytest.mark.parametrize(
    ("wish", "typed", "until"),
    [
        ("hour", "", "2026-07-01T11:00:00Z"),
        ("evening", "", "2026-07-01T16:00:00Z"),
        ("tomorrow", "", "2026-07-02T07:00:00Z"),
        ("until", "2026-12-01T08:30", "2026-12-01T07:30:00Z"),
    ],
)
def test_each_choice_is_a_moment_of_the_persons_clock(wish: str, typed: str, until: str) -> None:
    assert later(wish, typed, ZONE, NOON) == parse_text(until)


@pytest.mark.parametrize(("wish", "typed"), [("evening", ""), ("until", "2020-01-01T00:00"), ("until", "x"), ("y", "")])
def test_what_has_passed_and_what_is_no_choice_is_refused(wish: str, typed: str) -> None:
    with pytest.raises(ValidationError):
        later(wish, typed, ZONE, NIGHT)


def test_the_evening_is_over_once_it_has_begun() -> None:
    assert this_evening(ZONE, NIGHT) is None


def test_today_ends_at_midnight_there() -> None:
    assert end_of_today(ZONE, NIGHT) == parse_text("2026-07-01T22:00:00Z")


@pytest.mark.parametrize("typed", ["", "tomorrow", "2026-01-01T10:00+01:00", "0001-01-01T00:00"])
def test_a_moment_that_is_none_is_refused_at_its_field(typed: str) -> None:
    with pytest.raises(ValidationError) as refused:
        typed_moment("from", typed, ZONE)
    assert refused.value.fields[0].field == "from"
