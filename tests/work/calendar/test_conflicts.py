from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from postroom.work.calendar.conflicts import MOST_SLOTS, Daytime, free_slots, in_the_way
from postroom.work.calendar.event import CalendarEvent
from postroom.work.calendar.span import Span, whole_days

ZONES = st.sampled_from([ZoneInfo(name) for name in ("UTC", "Europe/Paris", "America/New_York", "Asia/Kathmandu")])
MONDAY = datetime(2026, 3, 23, tzinfo=UTC)  # the clocks of Paris change within the week
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
