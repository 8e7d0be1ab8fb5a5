from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.desk.window.placement import Area, centred, monitor_for

PRIMARY = Area(x=800, y=0, width=1000, height=800)
OTHER = Area(x=0, y=0, width=800, height=800)


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [((10, 10), OTHER), ((799, 799), OTHER), ((800, 0), PRIMARY), ((5000, 5000), PRIMARY)],
)
@pytest.mark.requirement("popup:monitor")
def test_the_monitor_is_the_pointers_or_the_primary_one(pointer: tuple[int, int], expected: Area) -> None:
    assert monitor_for([PRIMARY, OTHER], pointer) == expected


@given(st.integers(-3000, 3000), st.integers(400, 4000), st.integers(1, 5000), st.integers(1, 5000))
@pytest.mark.requirement("popup:centred")
def test_a_window_is_in_the_middle_of_its_monitor_and_fits(x: int, size: int, width: int, height: int) -> None:
    monitor = Area(x=x, y=x, width=size, height=size)
    place = centred(monitor, width, height)
    assert place.width <= width
    assert monitor.holds(place.x, place.y)
    assert monitor.holds(place.x + place.width - 1, place.y + place.height - 1)
    assert abs((place.x - monitor.x) - (monitor.x + size - place.x - place.width)) <= 1
