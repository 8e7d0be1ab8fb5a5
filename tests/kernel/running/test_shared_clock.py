"""A clock goes by another one when they differ for certain."""

from __future__ import annotations

import pytest
from tests.clock import START_US

from postroom.kernel.running.clock import SharedClock, SystemClock
from postroom.kernel.values.ids import seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SharedClock:
    """The machine's own stands still."""
    monkeypatch.setattr(SystemClock, "now_us", lambda _: START_US)
    return SharedClock()


@pytest.mark.parametrize(
    ("off_seconds", "answer_seconds", "moved_seconds"),
    [
        (30.0, 0.0, 30.0),
        (-30.0, 0.0, -30.0),
        (0.9, 0.0, 0.0),
        (-0.9, 0.0, 0.0),
        (30.0, 2.0, 30.0),
        (8.0, 20.0, 0.0),
    ],
    ids=["behind", "ahead", "nearly right", "nearly right, ahead", "a slow answer", "the answer took longer"],
)
def test_a_clock_that_is_off_for_certain_is_put_right(
    clock: SharedClock, off_seconds: float, answer_seconds: float, moved_seconds: float
) -> None:
    middle_us = START_US + seconds(answer_seconds / 2)

    moved_us = clock.follow(
        middle_us + seconds(off_seconds), asked_us=START_US, heard_us=START_US + seconds(answer_seconds)
    )

    assert moved_us == seconds(moved_seconds)
    assert clock.now_us() == START_US + seconds(moved_seconds)


def test_what_was_put_right_is_measured_by_the_time_it_shows_now(clock: SharedClock) -> None:
    clock.follow(START_US + seconds(30), asked_us=START_US, heard_us=START_US)

    now_us = clock.now_us()
    again_us = clock.follow(START_US + seconds(30), asked_us=now_us, heard_us=now_us)

    assert again_us == 0
    assert clock.now_us() == START_US + seconds(30)
