"""Charts as geometry: inside their frame, with gaps where nothing is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.overview.health import HEIGHT, WIDTH, bars, lines, round_top

VALUES = st.lists(st.none() | st.floats(0, 1e9, allow_nan=False), max_size=48)


@given(VALUES, st.floats(0.001, 1e6))
def test_every_bar_stands_inside_the_frame(values: list[float | None], top: float) -> None:
    drawn = bars(values, top)

    assert len(drawn) == sum(value is not None for value in values)
    for bar in drawn:
        assert bar.x >= 0 and bar.x + bar.width <= WIDTH + 0.01
        assert bar.y >= 0 and bar.y + bar.height == pytest.approx(HEIGHT, abs=0.02)


@given(VALUES)
def test_every_line_stays_inside_the_frame(values: list[float | None]) -> None:
    for piece in lines(values, round_top(values)):
        points = [tuple(map(float, point.split(","))) for point in piece.split()]
        assert len(points) >= 2
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


def test_a_gap_breaks_a_line() -> None:
    assert len(lines([1.0, 2.0, None, 3.0], 5.0)) == 2


@pytest.mark.parametrize(("largest", "top"), [(0, 1), (0.3, 0.5), (1, 1), (17, 20), (45, 50), (51, 100), (1200, 2000)])
def test_an_axis_ends_at_a_round_number(largest: float, top: float) -> None:
    assert round_top([None, largest]) == pytest.approx(top)
