"""Lengths of time as people type them."""

from __future__ import annotations

import pytest

from postroom.cli.duration import seconds_of
from postroom.domain.settings_error import SettingsError

GOOD = {"90s": 90, "15m": 900, "1h": 3600, "2d": 172_800, "1h30m": 5400, "25": 25, "0": 0, "0.5h": 1800, " 1H ": 3600}


@pytest.mark.parametrize(("text", "seconds"), GOOD.items(), ids=GOOD)
def test_a_length_is_a_number_with_a_unit_or_seconds(text: str, seconds: float) -> None:
    assert seconds_of(text, "--wait") == seconds


@pytest.mark.parametrize("text", ["", "soon", "1w", "-5s", "1h30", "inf", "nan", "1e9", "9" * 30, "١h"])
def test_anything_else_is_refused_by_the_option_it_was_given_for(text: str) -> None:
    with pytest.raises(SettingsError, match=r"--wait: .* like 90s, 15m, 1h or 2d"):
        seconds_of(text, "--wait")
