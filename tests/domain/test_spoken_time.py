"""Times as people say them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.spoken_time import duration, relative
from postroom.domain.time import seconds


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (0, "less than a second"),
        (0.9, "less than a second"),
        (1, "1 second"),
        (59.9, "59 seconds"),
        (60, "1 minute"),
        (119, "1 minute"),
        (7_200, "2 hours"),
        (2 * 86_400 + 5_000, "2 days"),
        (-5, "less than a second"),
    ],
)
def test_a_duration_is_one_unit_rounded_down(length: float, said: str) -> None:
    assert duration(length) == said


@pytest.mark.parametrize(
    ("offset", "said"),
    [(0, "just now"), (-1.5, "just now"), (1.5, "just now"), (180, "in 3 minutes"), (-3_600, "1 hour ago")],
)
def test_a_moment_is_seen_from_now(offset: float, said: str) -> None:
    assert relative(seconds(1_000_000 + offset), seconds(1_000_000)) == said


@given(st.integers(0, 10**16), st.integers(0, 10**16))
def test_past_and_future_are_never_mixed_up(moment: int, now: int) -> None:
    said = relative(moment, now)

    assert said == "just now" or said.endswith(" ago") == (moment < now)
