"""How many wrong codes are too many, and for how long."""

from __future__ import annotations

from postroom.domain.pairing import CLOSED_SECONDS, MOST_WRONG, WrongCodes
from postroom.domain.time import seconds

HOUR_US = seconds(CLOSED_SECONDS)
NOW_US = 10 * HOUR_US


def wrong(times: int, now_us: int = NOW_US) -> WrongCodes:
    found = WrongCodes()
    for _ in range(times):
        found = found.and_more(1, now_us)
    return found


def test_ten_wrong_codes_close_for_an_hour_and_nine_do_not() -> None:
    assert not wrong(MOST_WRONG - 1).is_closed(NOW_US)
    assert wrong(MOST_WRONG).is_closed(NOW_US)
    assert wrong(MOST_WRONG).is_closed(NOW_US + HOUR_US - 1)
    assert not wrong(MOST_WRONG).is_closed(NOW_US + HOUR_US)


def test_more_wrong_codes_make_the_hour_no_longer() -> None:
    closed = wrong(MOST_WRONG)

    assert closed.and_more(5, NOW_US + 1) == closed


def test_after_an_hour_without_one_the_count_begins_anew() -> None:
    assert wrong(MOST_WRONG).and_more(1, NOW_US + HOUR_US).count == 1
    assert wrong(3).and_more(2, NOW_US + 1).count == 5
