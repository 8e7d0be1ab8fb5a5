"""How figures, moments and states are said."""

from __future__ import annotations

from enum import StrEnum

import pytest

from postroom.console.words import (
    STATES,
    amount,
    figure,
    full_time,
    milliseconds,
    percent,
    plural,
    state_tone,
    state_word,
    told_in,
)
from postroom.delivery.reading.counts import MOST_COUNTED
from postroom.delivery.rules.breaker import CircuitState
from postroom.message.delivery import AttemptResult, Status


@pytest.mark.parametrize("kind", [Status, AttemptResult, CircuitState])
def test_every_state_has_a_word_and_a_tone(kind: type[StrEnum]) -> None:
    assert all(STATES[one][0] and STATES[one][1] for one in kind)


def test_no_state_is_said_in_the_words_of_machinery() -> None:
    assert not [word for word, _ in STATES.values() if "circuit" in word.lower() or "_" in word]


def test_a_state_nobody_knows_is_still_readable() -> None:
    assert (state_word("half_baked"), state_tone("half_baked")) == ("Half baked", "plain")


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "not available"), (0, "0"), (1234, "1,234"), (MOST_COUNTED + 1, f"more than {MOST_COUNTED:,}")],
)
def test_a_missing_figure_is_never_a_zero(value: int | None, said: str) -> None:
    assert figure(value) == said


def test_a_figure_above_what_was_counted_says_so() -> None:
    assert (figure(1000, 1000), figure(1001, 1000)) == ("1,000", "more than 1,000")


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "–"), (1.0, "100 %"), (0.0, "0 %"), (0.99999, "99.9 %"), (0.00001, "0.1 %"), (0.5, "50 %")],
)
def test_a_share_is_rounded_to_neither_end(value: float | None, said: str) -> None:
    assert percent(value) == said


@pytest.mark.parametrize(
    ("value", "said"), [(None, "–"), (1.26, "1.3 ms"), (12.4, "12 ms"), (1500.0, "1.5 s"), (999.7, "1000 ms")]
)
def test_a_latency_has_as_many_digits_as_it_needs(value: float | None, said: str) -> None:
    assert milliseconds(value) == said


def test_amounts_moments_and_numbers() -> None:
    assert (amount(20.0), amount(19.55), amount(1_000_000)) == ("20", "19.6", "1,000,000")
    assert full_time(1_767_268_805_000_000) == full_time("2026-01-01T12:00:05Z") == "1 Jan 2026, 12:00:05 UTC"
    with told_in("Europe/Vienna"):
        assert full_time("2026-01-01T12:00:05Z") == "1 Jan 2026, 13:00:05 CET"
    assert (plural(1, "reply", "replies"), plural(2, "reply", "replies"), plural(0, "day")) == (
        "reply",
        "replies",
        "days",
    )
