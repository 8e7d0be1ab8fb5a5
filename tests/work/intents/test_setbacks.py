from __future__ import annotations

from postroom.domain.time import seconds
from postroom.work.intents.setbacks import LONGEST_PAUSE_SECONDS, Setbacks, pause_seconds


def test_each_failure_doubles_the_distance_up_to_a_minute() -> None:
    assert [pause_seconds(failures) for failures in (1, 2, 3, 6, 10_000)] == [2, 4, 8, 60, LONGEST_PAUSE_SECONDS]


def test_what_failed_keeps_away_until_its_pause_is_over() -> None:
    setbacks = Setbacks()

    assert setbacks.note("a", 0) == 1
    assert setbacks.note("b", 0) == 1
    assert setbacks.note("b", 0) == 2

    assert setbacks.away(seconds(1.9)) == ["a", "b"]
    assert setbacks.away(seconds(2)) == ["b"]
    assert not setbacks.keeps_away("b", seconds(4))


def test_success_and_a_long_time_wipe_the_slate() -> None:
    setbacks = Setbacks()
    for _ in range(3):
        setbacks.note("a", 0)
        setbacks.note("b", 0)

    setbacks.clear("a")
    assert setbacks.note("a", 0) == 1
    setbacks.away(seconds(3600))
    assert setbacks.note("b", seconds(3600)) == 1
