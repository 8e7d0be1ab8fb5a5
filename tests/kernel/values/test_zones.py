"""Times as people say them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.ids import seconds
from postroom.kernel.values.zones import duration, is_zone, known_zone, relative


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (0, "less than a second"),
        (0.9, "less than a second"),
        (1, "1 second"),
        (59.9, "59 seconds"),
        (60, "1 minute"),
        (119, "1 minute"),
        (3_600, "1 hour"),
        (90 * 60, "90 minutes"),
        (7_200, "2 hours"),
        (86_400, "1 day"),
        (47 * 3_600, "47 hours"),
        (48 * 3_600 - 1, "47 hours"),
        (2 * 86_400 + 5_000, "2 days"),
        (-5, "less than a second"),
    ],
)
def test_a_duration_is_one_unit_rounded_down(length: float, said: str) -> None:
    assert duration(length) == said


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (0, "just now"),
        (-1.5, "just now"),
        (1.5, "just now"),
        (180, "in 3 minutes"),
        (-3_600, "1 hour ago"),
        (48 * 3_600 - 0.2, "in 2 days"),
        (47 * 3_600 + 1800, "in 47 hours"),
        (24 * 3_600 - 5, "in 1 day"),
        (-26 * 3_600, "26 hours ago"),
    ],
)
def test_a_moment_is_seen_from_now(offset: float, said: str) -> None:
    assert relative(seconds(1_000_000 + offset), seconds(1_000_000)) == said


@pytest.mark.requirement("side:time-left")
@given(st.integers(3_600, 10**7))
def test_what_is_said_is_never_so_little_that_a_person_is_misled(left: int) -> None:
    many, unit = duration(left).split()
    said = int(many) * {"day": 86_400, "hour": 3_600, "minute": 60}[unit.rstrip("s")]

    assert said <= left < said * 1.5


@given(st.integers(0, 10**16), st.integers(0, 10**16))
def test_past_and_future_are_never_mixed_up(moment: int, now: int) -> None:
    said = relative(moment, now)

    assert said == "just now" or said.endswith(" ago") == (moment < now)


@pytest.mark.parametrize(
    "name",
    ["", "Mars/Olympus", "America", "../../etc/passwd", "localtime", "posixrules", "europe/berlin", "x" * 300, "UTC\0"],
)
def test_what_is_no_zone_is_not_taken_for_one(name: str) -> None:
    assert not is_zone(name)
    assert known_zone(name) == ZoneInfo("UTC")
