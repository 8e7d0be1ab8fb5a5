from __future__ import annotations

from datetime import UTC as DATETIME_UTC
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.butlers.calendar.calendar import (
    MOST_SLOTS,
    CalendarEvent,
    Daytime,
    Span,
    free_slots,
    in_the_way,
    parse_span,
    read_event,
    read_span,
    whole_days,
)
from postroom.kernel.values.errors import ValidationError

ZONES = st.sampled_from([ZoneInfo(name) for name in ("UTC", "Europe/Paris", "America/New_York", "Asia/Kathmandu")])
MONDAY = datetime(2026, 3, 23, tzinfo=DATETIME_UTC)  # the clocks of Paris change within the week
minutes = st.integers(0, 7 * 24 * 60)
lengths = st.integers(5, 600)


@st.composite
def spans(draw: st.DrawFn, zones: st.SearchStrategy[ZoneInfo] = ZONES) -> Span:
    start = MONDAY + timedelta(minutes=draw(minutes))
    return Span(start=start, end=start + timedelta(minutes=draw(lengths)), zone=draw(zones))


@given(spans(), st.lists(spans(), max_size=12))
def test_free_times_are_free_in_order_as_long_as_wanted_and_in_the_daytime(wanted: Span, taken: list[Span]) -> None:
    until, daytime = wanted.end + timedelta(days=7), Daytime()

    slots = free_slots(wanted, taken, until=until, daytime=daytime)

    assert len(slots) <= MOST_SLOTS
    for slot in slots:
        assert not any(slot.overlaps(span) for span in taken)
        assert slot.end - slot.start == wanted.end - wanted.start
        assert wanted.start <= slot.start and slot.end <= until
        assert daytime.holds(slot) or not daytime.holds(wanted)
    assert all(one.end <= other.start for one, other in pairwise(slots))


@given(spans())
def test_an_empty_calendar_has_three_free_times_and_the_wanted_one_is_the_first(wanted: Span) -> None:
    slots = free_slots(wanted, [], until=wanted.end + timedelta(days=7), daytime=Daytime())

    assert len(slots) == MOST_SLOTS
    assert slots[0] == wanted


def test_a_calendar_that_is_full_has_none() -> None:
    wanted = Span(start=MONDAY, end=MONDAY + timedelta(hours=1), zone=ZoneInfo("UTC"))
    always = Span(start=MONDAY, end=MONDAY + timedelta(days=30), zone=ZoneInfo("UTC"))

    assert free_slots(wanted, [always], until=MONDAY + timedelta(days=7), daytime=Daytime()) == []


def test_the_evening_goes_on_in_the_next_morning() -> None:
    start = MONDAY + timedelta(hours=18)
    wanted = Span(start=start, end=start + timedelta(hours=1), zone=ZoneInfo("Europe/Paris"))

    slots = free_slots(wanted, [wanted], until=start + timedelta(days=7), daytime=Daytime())

    assert [slot.shown()["start"] for slot in slots] == [
        "2026-03-24T08:00:00+01:00",
        "2026-03-24T09:00:00+01:00",
        "2026-03-24T10:00:00+01:00",
    ]


def test_whole_days_move_by_whole_days_over_a_change_of_clocks() -> None:
    paris = ZoneInfo("Europe/Paris")
    day = datetime(2026, 3, 28).date()
    wanted = whole_days(day, day + timedelta(days=2), paris)
    lunch = Span(start=wanted.start + timedelta(hours=12), end=wanted.start + timedelta(hours=13), zone=paris)

    slots = free_slots(wanted, [lunch], until=wanted.end + timedelta(days=30), daytime=Daytime())

    assert [(slot.shown()["start"], slot.shown()["end"]) for slot in slots] == [
        ("2026-03-29", "2026-03-31"),
        ("2026-03-31", "2026-04-02"),
        ("2026-04-02", "2026-04-04"),
    ]


def event(name: str, start_hour: int, end_hour: int, busy: bool = True) -> CalendarEvent:
    span = Span(
        start=MONDAY + timedelta(hours=start_hour), end=MONDAY + timedelta(hours=end_hour), zone=ZoneInfo("UTC")
    )
    return CalendarEvent(id=name, etag="", span=span, busy=busy, title=name)


def test_touching_is_not_overlapping() -> None:
    wanted = event("wanted", 10, 11).span
    others = [event("before", 9, 10), event("after", 11, 12), event("across", 8, 20), event("free", 10, 11, busy=False)]

    assert [one.id for one in in_the_way(wanted, others)] == ["across"]
    assert in_the_way(wanted, others, ignoring="across") == []


UTC = ZoneInfo("UTC")
TIMES = {"start": {"dateTime": "2026-05-04T10:00:00Z"}, "end": {"dateTime": "2026-05-04T11:00:00Z"}}
texts = st.text("Europ/20-T:é\x00", max_size=12)
names = st.sampled_from(["date", "dateTime", "timeZone", "self", "responseStatus"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(names, inner),
)


def test_an_event_without_words_is_still_an_event() -> None:
    event = read_event({"id": "x", **TIMES}, UTC)

    assert event is not None
    assert event.shown() == {
        "event_id": "x",
        "title": "",
        "start": "2026-05-04T10:00:00+00:00",
        "end": "2026-05-04T11:00:00+00:00",
        "all_day": False,
        "timezone": "UTC",
        "busy": True,
        "etag": "",
    }


@pytest.mark.parametrize("document", [None, [], "x", {}, {"id": 5, **TIMES}, {"id": "x", "status": "cancelled"}])
def test_anything_else_is_none(document: object) -> None:
    assert read_event(document, UTC) is None


@example({"attendees": 5})
@example({"start": {"dateTime": "2026-01-01T00:00", "timeZone": "Europe"}, "end": {}})
@given(st.dictionaries(st.sampled_from(["id", "start", "end", "summary", "attendees", "status"]), json_values))
def test_nothing_google_could_send_breaks_the_reading(document: dict[str, Any]) -> None:
    read_event(document, UTC)
    read_event({**document, "id": "x", **TIMES}, UTC)


def test_long_words_are_cut_and_never_part_of_a_representation() -> None:
    event = read_event({"id": "x", "summary": "s" * 5_000, "description": "canary", **TIMES}, UTC)

    assert event is not None
    assert len(event.title) == 2_000
    assert "canary" not in repr(event)


PARIS = ZoneInfo("Europe/Paris")
SPAN_ZONES = st.sampled_from([PARIS, ZoneInfo("UTC"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu")])


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=DATETIME_UTC)  # type: ignore[misc,arg-type]


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


@given(st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)), st.integers(1, 10_000), SPAN_ZONES)
def test_a_span_of_times_survives_the_way_to_google_and_back(start: datetime, minutes: int, zone: ZoneInfo) -> None:
    begin = start.replace(tzinfo=DATETIME_UTC, microsecond=0)
    span = Span(start=begin, end=begin + timedelta(minutes=minutes), zone=zone)

    assert read_span(span.document(), zone) == span


@given(st.dates(), st.integers(1, 40), SPAN_ZONES)
def test_a_span_of_days_survives_the_way_to_google_and_back(first: Any, days: int, zone: ZoneInfo) -> None:
    try:
        span = parse_span(first.isoformat(), (first + timedelta(days=days)).isoformat(), zone)
    except (ValidationError, OverflowError):
        return

    assert read_span(span.document(), zone) == span
    assert (span.shown()["start"], span.all_day) == (first.isoformat(), True)
