"""Until when a notification sleeps, in the zone of the person who sent it to sleep."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postroom.domain.errors import ValidationError
from postroom.domain.time import to_datetime, to_us
from postroom.work.inbox.snooze import Wish, snoozed_until

WEDNESDAY = to_us(datetime(2026, 3, 25, 22, 30, tzinfo=UTC))  # in Berlin it is 23:30
SUNDAY = to_us(datetime(2026, 3, 29, 12, 0, tzinfo=UTC))  # the day Berlin's clocks went forward


@pytest.mark.parametrize(
    ("now_us", "wish", "zone", "until"),
    [
        pytest.param(WEDNESDAY, Wish.HOUR, "UTC", "2026-03-25T23:30", id="an hour"),
        pytest.param(WEDNESDAY, Wish.TOMORROW, "UTC", "2026-03-26T09:00", id="tomorrow"),
        pytest.param(WEDNESDAY, Wish.TOMORROW, "Europe/Berlin", "2026-03-26T08:00", id="tomorrow in Berlin"),
        pytest.param(WEDNESDAY, Wish.TOMORROW, "Asia/Tokyo", "2026-03-27T00:00", id="already tomorrow in Tokyo"),
        pytest.param(WEDNESDAY, Wish.NEXT_WEEK, "Europe/Berlin", "2026-03-30T07:00", id="Monday, in summer time"),
        pytest.param(SUNDAY, Wish.NEXT_WEEK, "UTC", "2026-03-30T09:00", id="Monday is the day after Sunday"),
        pytest.param(SUNDAY, Wish.UNTIL, "Europe/Berlin", "2026-05-01T08:15", id="a time of one's own"),
        pytest.param(SUNDAY, Wish.UNTIL, "Nowhere/At_all", "2026-05-01T10:15", id="a zone nobody knows is UTC"),
    ],
)
def test_a_wish_becomes_an_instant(now_us: int, wish: Wish, zone: str, until: str) -> None:
    assert to_datetime(snoozed_until(wish, "2026-05-01T10:15", zone, now_us)) == datetime.fromisoformat(f"{until}Z")


def test_a_time_the_clock_jumps_over_is_the_moment_it_jumps() -> None:
    early = to_us(datetime(2026, 3, 28, tzinfo=UTC))

    assert snoozed_until(Wish.UNTIL, "2026-03-29T02:30", "Europe/Berlin", early) == to_us(
        datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    "typed", ["", "soon", "2026-13-01T09:00", "2020-01-01T09:00", "2099-01-01T09:00+02:00", "9999-12-31T23:59"]
)
def test_what_is_no_coming_time_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        snoozed_until(Wish.UNTIL, typed, "UTC", WEDNESDAY)
