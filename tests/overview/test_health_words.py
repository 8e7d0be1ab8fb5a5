"""What the page of health says of channels, and its charts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.ids import parse_text
from postroom.overview.health import HEIGHT, WIDTH, ChannelMoment, bars, channel_state, limits_in_use, lines, round_top

# -- What is said of a channel at each of its states, and which limits are worth a line --


NOON_US = parse_text("2026-11-03T12:00:00Z")
NOW = ChannelMoment(now_us=NOON_US, zone="Europe/Vienna")


def circuit(state: str = "closed", **changes: Any) -> dict[str, Any]:
    known = {"trip_reason": None, "last_error_message": None, "retry_after_seconds": None, "consecutive_failures": 0}
    return {"configured": True, "state": state, **known, **changes}


@pytest.mark.parametrize(
    ("one", "around", "word", "tone"),
    [
        (circuit(), NOW, "Working", "good"),
        (circuit(configured=False), NOW, "Not set up", "plain"),
        (circuit("open", retry_after_seconds=300.0), NOW, "Paused after failures", "bad"),
        (circuit("half-open"), NOW, "Trying again", "warn"),
        (circuit(), ChannelMoment(now_us=NOON_US, throttle_seconds=30.0), "Asked to wait", "warn"),
        (
            circuit(),
            ChannelMoment(now_us=NOON_US, deaf="no mailbox"),
            "Does not hear answers",
            "warn",
        ),
        (circuit(), ChannelMoment(now_us=NOON_US, p95_ms=12_000.0), "Slow", "warn"),
        (
            circuit("open"),
            ChannelMoment(now_us=NOON_US, p95_ms=12_000.0, throttle_seconds=1.0),
            "Paused after failures",
            "bad",
        ),
    ],
)
def test_the_worst_is_said(one: dict[str, Any], around: ChannelMoment, word: str, tone: str) -> None:
    state = channel_state("email", one, around)

    assert (state.title, state.word, state.tone) == ("E-mail", word, tone)
    assert state.means.endswith(".") and state.advice.endswith(".")


def test_a_pause_says_until_when_by_the_clock_of_the_household() -> None:
    tripped = circuit("open", retry_after_seconds=300.0, consecutive_failures=5, trip_reason="503 <b>Busy</b>")
    state = channel_state("telegram", tripped, NOW)

    assert "failed 5 times in a row and tries again at 13:05" in state.means
    assert state.provider == "503 <b>Busy</b>"


def bucket(consumed: float, capacity: int = 60) -> dict[str, Any]:
    return {"consumed": consumed, "capacity": capacity}


def test_only_limits_in_use_are_listed() -> None:
    limits = {
        "global": bucket(37),
        "channels": {
            "telegram.bot": bucket(0),
            "telegram.user": bucket(0),
            "email.bot": bucket(0, 20),
            "email.user": bucket(2.5, 20),
        },
        "in_flight": {"current": 3, "maximum": 100},
    }

    assert [(one.title, one.words) for one in limits_in_use(limits, ["telegram"])] == [
        ("All channels together", "37 of 60 messages this minute"),
        ("Telegram", "0 of 60 messages this minute"),
        ("E-mail, as a person", "2.5 of 20 messages this minute"),
        ("At the same time", "3 of 100 messages under way"),
    ]


# -- Charts as geometry: inside their frame, with gaps where nothing is known --


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
