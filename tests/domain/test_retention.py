"""Spans with units, and the months an archive is kept by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.retention import DAY_US, month_start, read_span, retention
from postroom.domain.time import parse_text, to_datetime


@pytest.mark.parametrize(
    ("text", "hours"), [("12h", 12), ("90d", 2160), ("4w", 672), (" 1D ", 24)], ids=["hours", "days", "weeks", "loose"]
)
def test_a_span_is_a_number_and_its_unit(text: str, hours: int) -> None:
    assert read_span(text) == hours * 3_600_000_000


@pytest.mark.parametrize("text", ["", "90", "d", "0d", "-1d", "1.5d", "90 days", "٣d", "1m", "9999999d"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unit"):
        read_span(text)


def test_the_month_in_which_the_span_ends_stays_whole() -> None:
    now = parse_text("2026-11-15T12:00:00Z")

    keep = retention(now, 90 * DAY_US, 365 * DAY_US)

    assert keep.settled_before_us == parse_text("2026-08-17T12:00:00Z")
    assert keep.drop_archive_before_us == parse_text("2025-11-01T00:00:00Z")
    assert retention(now, DAY_US, None).drop_archive_before_us is None


@given(st.integers(0, 4_000_000_000_000_000))
def test_a_month_starts_on_its_first_day_and_never_later_than_the_moment(moment_us: int) -> None:
    start = month_start(moment_us)

    assert start <= moment_us < start + 31 * DAY_US
    assert to_datetime(start).day == 1
