"""Quiet hours with weekdays and several windows, over every kind of clock change."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.work.attention.histories import PLACES
from tests.work.attention.one_daily_window import QuietHours
from tests.work.attention.sample import DAY, HOUR, MINUTE, at
from tests.work.attention.slow_oracle import US, calendar

from postroom.domain.time import to_datetime
from postroom.work.attention.policy import QuietWindow
from postroom.work.attention.quiet import after_open_time, quiet_until, stretch

NIGHT = (QuietWindow(time(22), time(7)),)


def shown(moment: int | None, zone: str) -> str | None:
    return None if moment is None else to_datetime(moment).astimezone(ZoneInfo(zone)).isoformat(timespec="minutes")


@pytest.mark.requirement("attention:quiet-hours")
@pytest.mark.parametrize(
    ("moment", "until"),
    [
        ("21:59", None),
        ("22:00", "2026-01-06T07:00"),
        ("2026-01-06T06:59", "2026-01-06T07:00"),
        ("2026-01-06T07:00", None),
    ],
)
def test_it_is_quiet_from_the_start_and_no_longer_at_the_end(moment: str, until: str | None) -> None:
    assert quiet_until(NIGHT, "UTC", at(moment)) == (at(until) if until else None)


@pytest.mark.requirement("attention:quiet-hours")
def test_a_window_of_friday_night_ends_on_saturday_and_does_not_begin_then() -> None:
    friday = (QuietWindow(time(22), time(7), ("fri",)),)

    assert quiet_until(friday, "UTC", at("2026-01-10T03:00")) == at("2026-01-10T07:00")
    assert quiet_until(friday, "UTC", at("2026-01-10T23:00")) is None


@pytest.mark.requirement("attention:quiet-hours")
def test_windows_that_touch_or_overlap_are_one() -> None:
    windows = (QuietWindow(time(22), time(7)), QuietWindow(time(7), time(9)), QuietWindow(time(8), time(10)))

    assert quiet_until(windows, "UTC", at("23:00")) == at("2026-01-06T10:00")


def test_equal_times_never_begin() -> None:
    assert stretch((QuietWindow(time(9), time(9)),), "UTC", at("09:00")) is None


def test_the_next_stretch_of_a_weekday_is_found_a_week_ahead() -> None:
    monday = (QuietWindow(time(9), time(10), ("mon",)),)

    assert stretch(monday, "UTC", at("10:00")) == (at("2026-01-12T09:00"), at("2026-01-12T10:00"))


@pytest.mark.requirement("attention:zones")
@pytest.mark.parametrize(
    ("zone", "window", "moment", "until"),
    [
        ("Europe/Vienna", (22, 0, 2, 30), "2026-03-29T01:00", "2026-03-29T03:00+02:00"),  # the end is jumped over
        ("Europe/Vienna", (22, 0, 2, 30), "2026-10-25T01:00", "2026-10-25T02:30+01:00"),  # the end is shown twice
        ("Australia/Lord_Howe", (22, 0, 1, 45), "2026-04-05T00:00", "2026-04-05T01:45+10:30"),  # half an hour again
        ("Australia/Lord_Howe", (22, 0, 2, 15), "2026-10-04T00:00", "2026-10-04T02:30+11:00"),
        ("Pacific/Apia", (22, 0, 7, 0), "2011-12-29T23:00", "2011-12-31T07:00+14:00"),  # a day that was not
        ("Africa/Cairo", (22, 0, 0, 30), "2023-04-27T23:00", "2023-04-28T01:00+03:00"),  # midnight is jumped over
        ("America/Sao_Paulo", (22, 0, 0, 0), "2018-11-03T23:00", "2018-11-04T01:00-02:00"),
        ("Antarctica/Troll", (22, 0, 2, 0), "2026-03-28T23:00", "2026-03-29T03:00+02:00"),  # two hours at once
        ("Africa/Casablanca", (22, 0, 2, 30), "2026-02-14T23:00", "2026-02-15T02:30+00:00"),  # back for a month
    ],
)
def test_the_end_follows_the_wall_clock_over_a_change(
    zone: str, window: tuple[int, ...], moment: str, until: str
) -> None:
    windows = (QuietWindow(time(*window[:2]), time(*window[2:])),)

    assert shown(quiet_until(windows, zone, at(moment, zone)), zone) == until


@pytest.mark.requirement("attention:zones")
@given(st.sampled_from(PLACES), st.integers(0, 23), st.integers(0, 23), st.sampled_from([0, 30]), st.integers(0, 4000))
def test_one_daily_window_is_what_the_inbox_has(
    place: tuple[str, str], start: int, end: int, half: int, minutes: int
) -> None:
    zone, begin = place
    moment = at(begin, zone) + minutes * MINUTE
    old = QuietHours(time(start, half), time(end), zone).until(to_datetime(moment))

    found = quiet_until((QuietWindow(time(start, half), time(end)),), zone, moment)

    assert found == (None if old is None else (old - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))


@pytest.mark.requirement("attention:zones")
@pytest.mark.parametrize(("zone", "begin"), PLACES)
def test_each_minute_is_quiet_when_the_wall_clock_says_so(zone: str, begin: str) -> None:
    first = at(begin, zone) // US - 3 * 1440
    slow = calendar(
        zone, ((("fri", "sat", "sun", "thu"), "22:10", "02:30"), ((), "01:00", "01:45")), (), first, 9 * 1440
    )
    windows = (
        QuietWindow(time(22, 10), time(2, 30), ("fri", "sat", "sun", "thu")),
        QuietWindow(time(1), time(1, 45)),
    )

    differing = [
        minute
        for minute in range(first + 3 * 1440, first + 6 * 1440)
        if (quiet_until(windows, zone, minute * US) is not None) != (minute in slow.quiet)
    ]

    assert differing == []


def test_the_clock_stands_still_while_it_is_quiet() -> None:
    assert after_open_time(NIGHT, "UTC", at("21:55"), 10 * MINUTE) == at("2026-01-06T07:05")
    assert after_open_time(NIGHT, "UTC", at("12:00"), 10 * MINUTE) == at("12:10")
    assert after_open_time(NIGHT, "UTC", at("23:00"), 0) == at("2026-01-06T07:00")
    assert after_open_time((), "UTC", at("23:00"), DAY) == at("23:00") + DAY
    assert after_open_time(NIGHT, "UTC", at("12:00"), 20 * HOUR) == at("2026-01-06T17:00")
