"""Spans with units."""

from __future__ import annotations

import pytest

from postroom.domain.retention import read_span


@pytest.mark.parametrize(
    ("text", "hours"), [("12h", 12), ("90d", 2160), ("4w", 672), (" 1D ", 24)], ids=["hours", "days", "weeks", "loose"]
)
def test_a_span_is_a_number_and_its_unit(text: str, hours: int) -> None:
    assert read_span(text) == hours * 3_600_000_000


@pytest.mark.parametrize("text", ["", "90", "d", "0d", "-1d", "1.5d", "90 days", "٣d", "1m", "9999999d"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unit"):
        read_span(text)
