"""Quiet hours of a week, drawn and said."""

from __future__ import annotations

from datetime import time

from postroom.attention.model import QuietWindow
from postroom.attention.pages.shown import week

NIGHT = QuietWindow(time(22), time(7))


def test_a_night_is_the_end_of_one_day_and_the_beginning_of_the_next() -> None:
    days = week([NIGHT], [])

    assert {day.spans for day in days} == {((0, 420), (1320, 1440))}
    assert days[0].words == "00:00–07:00, 22:00–24:00"


def test_a_window_of_some_days_ends_on_the_morning_after() -> None:
    days = week([QuietWindow(time(23), time(9), ("sun",))], [time(18), time(8)])

    assert [day.words for day in days] == ["00:00–09:00", *["no quiet hours"] * 5, "23:00–24:00"]
    assert days[3].slots == (480, 1080)


def test_windows_that_touch_are_one_and_equal_times_never_begin() -> None:
    assert week([QuietWindow(time(0), time(12)), QuietWindow(time(12), time(0))], [])[0].words == "quiet all day"
    assert week([QuietWindow(time(9), time(9))], [])[0].words == "no quiet hours"


def test_a_window_until_midnight_leaves_nothing_to_the_next_day() -> None:
    days = week([QuietWindow(time(20), time(0), ("mon",))], [])

    assert [day.spans for day in days[:2]] == [((1200, 1440),), ()]
