"""Time as one integer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.time import parse_text, seconds, to_datetime, to_text, to_us


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_survives_the_way_there_and_back(moment: datetime) -> None:
    us = to_us(moment)

    assert to_datetime(us) == moment
    assert parse_text(to_text(us)) == us


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z"),
        ("2026-01-01t02:00:00+02:00", "2026-01-01T00:00:00.000000Z"),
        ("2025-12-31T19:00:00.5-05:00", "2026-01-01T00:00:00.500000Z"),
        ("2026-01-01T00:00:00.123456789z", "2026-01-01T00:00:00.123456Z"),
    ],
)
def test_rfc_3339_is_understood(text: str, same_as: str) -> None:
    assert to_text(parse_text(text)) == same_as


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "20260101T000000Z",
        "2026-W01-1T00:00:00Z",
        "2026-01-01T00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:01Z",
        "2026-01-01T23:59:60Z",
        "2026-01-01T00:00:00+24:00",
        "0000-01-01T00:00:00Z",
        "٢٠٢٦-01-01T00:00:00Z",
        " 2026-01-01T00:00:00Z",
        "yesterday",
    ],
)
def test_everything_else_is_not(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_text(text)


def test_seconds_become_microseconds() -> None:
    assert (seconds(1.5), seconds(0.0000004), seconds(0)) == (1_500_000, 0, 0)
