from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.errors import ValidationError
from postroom.work.calendar.span import Span, parse_span, read_span

PARIS = ZoneInfo("Europe/Paris")
ZONES = st.sampled_from([PARIS, ZoneInfo("UTC"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu")])


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        pytest.param("2026-05-04T10:00", "2026-05-04T11:00", utc(2026, 5, 4, 8), utc(2026, 5, 4, 9), id="local"),
        pytest.param(
            "2026-05-04T10:00:00+00:00", "2026-05-04T13:00", utc(2026, 5, 4, 10), utc(2026, 5, 4, 11), id="offset"
        ),
        pytest.param("2026-05-04", "2026-05-05", utc(2026, 5, 3, 22), utc(2026, 5, 4, 22), id="one day"),
        pytest.param("2026-03-29", "2026-03-30", utc(2026, 3, 28, 23), utc(2026, 3, 29, 22), id="a day of 23 hours"),
        pytest.param("2026-10-25", "2026-10-26", utc(2026, 10, 24, 22), utc(2026, 10, 25, 23), id="a day of 25 hours"),
        pytest.param(
            "2026-10-25T02:30", "2026-10-25T04:00", utc(2026, 10, 25, 0, 30), utc(2026, 10, 25, 3), id="twice"
        ),
    ],
)
def test_a_span_in_paris(start: str, end: str, first: datetime, last: datetime) -> None:
    span = parse_span(start, end, PARIS)

    assert (span.start, span.end) == (first, last)


@pytest.mark.parametrize(
    ("start", "end", "sentence"),
    [
        ("2026-03-29T02:30", "2026-03-29T04:00", "start: does not exist in Europe/Paris"),
        ("2026-05-04T11:00", "2026-05-04T10:00", "end: must be after start"),
        ("2026-05-04", "2026-05-04", "end: must be after start"),
        ("2026-05-04", "2026-05-04T10:00", "end: must be a date like start"),
        ("2026-02-30", "2026-03-01", "start: is not a day"),
        ("tomorrow", "2026-03-01T10:00", "start: must be a date"),
        ("0001-01-01T00:00", "2026-03-01T10:00", "start: must be a date"),
        ("0001-01-01", "0001-01-02", "start: is not a day"),
        ("9999-12-30", "9999-12-31", "start: is not a day"),
        ("9999-12-30T10:00", "9999-12-30T11:00", "start: must be a date"),
    ],
)
def test_what_is_no_span_is_refused(start: str, end: str, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        parse_span(start, end, PARIS)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"start": 5, "end": {}},
        {"start": {"date": "x"}, "end": {"date": "y"}},
        {"start": {"dateTime": "x"}, "end": {}},
    ],
)
def test_what_google_sends_without_times_is_no_span(document: dict[str, Any]) -> None:
    assert read_span(document, PARIS) is None


@given(st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)), st.integers(1, 10_000), ZONES)
def test_a_span_of_times_survives_the_way_to_google_and_back(start: datetime, minutes: int, zone: ZoneInfo) -> None:
    begin = start.replace(tzinfo=UTC, microsecond=0)
    span = Span(start=begin, end=begin + timedelta(minutes=minutes), zone=zone)

    assert read_span(span.document(), zone) == span


@given(st.dates(), st.integers(1, 40), ZONES)
def test_a_span_of_days_survives_the_way_to_google_and_back(first: Any, days: int, zone: ZoneInfo) -> None:
    try:
        span = parse_span(first.isoformat(), (first + timedelta(days=days)).isoformat(), zone)
    except (ValidationError, OverflowError):
        return

    assert read_span(span.document(), zone) == span
    assert (span.shown()["start"], span.all_day) == (first.isoformat(), True)
