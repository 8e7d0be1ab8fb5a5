"""Quiet hours with weekdays and several windows, over every kind of clock change."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attention.attended import names
from tests.attention.histories import PLACES
from tests.attention.sample import DAY, HOUR, MINUTE, PERSON, at, book
from tests.attention.sample import NIGHT as WRITTEN_NIGHT
from tests.attention.slow_oracle import US, calendar
from tests.clock import FakeClock

from postroom.attention.attention import Attention, QuestionTimes, open_deadline, shown_at
from postroom.attention.model import QuietWindow
from postroom.attention.rules.policy import parse_policy
from postroom.attention.rules.times import (
    Wish,
    after_open_time,
    on_duty,
    parse_rotation,
    quiet_until,
    snoozed_until,
    stretch,
)
from postroom.attention.store import StoredNotices
from postroom.attention.turn import NoticeBook
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import to_datetime, to_us
from postroom.kernel.values.zones import zone_names
from postroom.message.wishes import Urgency

NIGHT = (QuietWindow(time(22), time(7)),)


def shown(moment: int | None, zone: str) -> str | None:
    return None if moment is None else to_datetime(moment).astimezone(ZoneInfo(zone)).isoformat(timespec="minutes")


@pytest.mark.requirement("attention:quiet-hours")
@pytest.mark.parametrize(
    ("moment", "until"),
    [
        ("21:59", None),
        ("22:00", "2026-01-06T07:00"),
        ("2026-01-06T06:59", "2026-01-06T07:00"),
        ("2026-01-06T07:00", None),
    ],
)
def test_it_is_quiet_from_the_start_and_no_longer_at_the_end(moment: str, until: str | None) -> None:
    assert quiet_until(NIGHT, "UTC", at(moment)) == (at(until) if until else None)


@pytest.mark.requirement("attention:quiet-hours")
def test_a_window_of_friday_night_ends_on_saturday_and_does_not_begin_then() -> None:
    friday = (QuietWindow(time(22), time(7), ("fri",)),)

    assert quiet_until(friday, "UTC", at("2026-01-10T03:00")) == at("2026-01-10T07:00")
    assert quiet_until(friday, "UTC", at("2026-01-10T23:00")) is None


@pytest.mark.requirement("attention:quiet-hours")
def test_windows_that_touch_or_overlap_are_one() -> None:
    windows = (QuietWindow(time(22), time(7)), QuietWindow(time(7), time(9)), QuietWindow(time(8), time(10)))

    assert quiet_until(windows, "UTC", at("23:00")) == at("2026-01-06T10:00")


def test_the_next_stretch_of_a_weekday_is_found_a_week_ahead() -> None:
    monday = (QuietWindow(time(9), time(10), ("mon",)),)

    assert stretch(monday, "UTC", at("10:00")) == (at("2026-01-12T09:00"), at("2026-01-12T10:00"))


@pytest.mark.requirement("attention:zones")
@pytest.mark.parametrize(
    ("zone", "window", "moment", "until"),
    [
        ("Europe/Vienna", (22, 0, 2, 30), "2026-03-29T01:00", "2026-03-29T03:00+02:00"),  # the end is jumped over
        ("Europe/Vienna", (22, 0, 2, 30), "2026-10-25T01:00", "2026-10-25T02:30+01:00"),  # the end is shown twice
        ("Australia/Lord_Howe", (22, 0, 1, 45), "2026-04-05T00:00", "2026-04-05T01:45+10:30"),  # half an hour again
        ("Australia/Lord_Howe", (22, 0, 2, 15), "2026-10-04T00:00", "2026-10-04T02:30+11:00"),
        ("Pacific/Apia", (22, 0, 7, 0), "2011-12-29T23:00", "2011-12-31T07:00+14:00"),  # a day that was not
        ("Africa/Cairo", (22, 0, 0, 30), "2023-04-27T23:00", "2023-04-28T01:00+03:00"),  # midnight is jumped over
        ("America/Sao_Paulo", (22, 0, 0, 0), "2018-11-03T23:00", "2018-11-04T01:00-02:00"),
        ("Antarctica/Troll", (22, 0, 2, 0), "2026-03-28T23:00", "2026-03-29T03:00+02:00"),  # two hours at once
        ("Africa/Casablanca", (22, 0, 2, 30), "2026-02-14T23:00", "2026-02-15T02:30+00:00"),  # back for a month
    ],
)
def test_the_end_follows_the_wall_clock_over_a_change(
    zone: str, window: tuple[int, ...], moment: str, until: str
) -> None:
    windows = (QuietWindow(time(*window[:2]), time(*window[2:])),)

    assert shown(quiet_until(windows, zone, at(moment, zone)), zone) == until


def quiet_on_the_wall(window: QuietWindow, zone: str, moment: datetime) -> bool:
    """What somebody who only looks at the wall clock would say."""
    shown = moment.astimezone(ZoneInfo(zone)).time()
    if window.start < window.end:
        return window.start <= shown < window.end
    return window.start > window.end and (shown >= window.start or shown < window.end)


def check(window: QuietWindow, zone: str, moment: datetime) -> None:
    now, case = to_us(moment), (window, zone, moment)
    ends = quiet_until((window,), zone, now)
    if quiet_on_the_wall(window, zone, moment):
        assert ends is not None, case
    if ends is not None:
        assert now < ends <= now + 50 * HOUR, case
        assert quiet_until((window,), zone, ends) is None, case
        assert {quiet_until((window,), zone, within) for within in (ends - 1, (now + ends) // 2)} == {ends}, case


TIMES = st.builds(time, st.integers(0, 23), st.sampled_from([0, 1, 15, 30, 45, 59]), st.sampled_from([0, 0, 0, 30]))


@pytest.mark.requirement("attention:zones")
@settings(deadline=None)
@given(st.sampled_from(sorted(zone_names())), TIMES, TIMES, st.datetimes(datetime(2024, 1, 1), datetime(2031, 1, 1)))
def test_in_every_zone_quiet_is_what_the_wall_clock_says_and_has_one_end(
    zone: str, start: time, end: time, moment: datetime
) -> None:
    check(QuietWindow(start, end), zone, moment.replace(tzinfo=UTC))


def changes_of_offsets() -> dict[tuple[datetime, timedelta, timedelta], str]:
    """Every change from 2024 to 2030, with one zone that makes it: others that do are no different."""
    found: dict[tuple[datetime, timedelta, timedelta], str] = {}
    days = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number) for number in range(2558)]
    for name in sorted(zone_names()):
        zone = ZoneInfo(name)
        offsets = [day.astimezone(zone).utcoffset() or timedelta() for day in days]
        for number, (before, after) in enumerate(pairwise(offsets)):
            if before != after:
                found.setdefault((moment_of_change(zone, days[number], before), before, after), name)
    return found


def moment_of_change(zone: ZoneInfo, earlier: datetime, before: timedelta) -> datetime:
    later = earlier + timedelta(days=1)
    while later - earlier > timedelta(seconds=1):
        middle = earlier + (later - earlier) / 2
        earlier, later = (middle, later) if middle.astimezone(zone).utcoffset() == before else (earlier, middle)
    return later.replace(microsecond=0)


@pytest.mark.requirement("attention:zones")
@pytest.mark.timeout(300)
def test_around_every_change_of_an_offset_quiet_is_what_the_wall_clock_says() -> None:
    changes = changes_of_offsets()
    assert len(changes) > 200
    for (moment, _, _), zone in changes.items():
        for minutes in (-100, -60, -30, -1, 0, 1, 30, 60, 100):
            now = moment + timedelta(minutes=minutes)
            shown = now.astimezone(ZoneInfo(zone)).replace(tzinfo=None, second=0, microsecond=0)
            around = ((shown - timedelta(minutes=40)).time(), (shown + timedelta(minutes=50)).time())
            for start, end in (around, (time(22), time(2, 30)), (time(22), time(1, 30))):
                check(QuietWindow(start, end), zone, now)


@pytest.mark.requirement("attention:zones")
@pytest.mark.parametrize(("zone", "begin"), PLACES)
def test_each_minute_is_quiet_when_the_wall_clock_says_so(zone: str, begin: str) -> None:
    first = at(begin, zone) // US - 3 * 1440
    slow = calendar(
        zone, ((("fri", "sat", "sun", "thu"), "22:10", "02:30"), ((), "01:00", "01:45")), (), first, 9 * 1440
    )
    windows = (
        QuietWindow(time(22, 10), time(2, 30), ("fri", "sat", "sun", "thu")),
        QuietWindow(time(1), time(1, 45)),
    )

    differing = [
        minute
        for minute in range(first + 3 * 1440, first + 6 * 1440)
        if (quiet_until(windows, zone, minute * US) is not None) != (minute in slow.quiet)
    ]

    assert differing == []


def test_the_clock_stands_still_while_it_is_quiet() -> None:
    assert after_open_time(NIGHT, "UTC", at("21:55"), 10 * MINUTE) == at("2026-01-06T07:05")
    assert after_open_time(NIGHT, "UTC", at("12:00"), 10 * MINUTE) == at("12:10")
    assert after_open_time(NIGHT, "UTC", at("23:00"), 0) == at("2026-01-06T07:00")
    assert after_open_time((), "UTC", at("23:00"), DAY) == at("23:00") + DAY
    assert after_open_time(NIGHT, "UTC", at("12:00"), 20 * HOUR) == at("2026-01-06T17:00")


WEEKLY = {"anchor": "2026-03-23T09:00", "zone": "Europe/Vienna", "every_days": 7, "people": ["ada", "grace"]}
OVERRIDE = {"from": "2026-03-24T00:00:00Z", "until": "2026-03-25T00:00:00Z", "person": "eve"}


@pytest.mark.requirement("attention:rotation")
@pytest.mark.parametrize(
    ("moment", "person"),
    [
        ("2026-03-23T08:59", None),
        ("2026-03-23T09:00", "ada"),
        ("2026-03-30T08:59", "ada"),  # the clock changed on the 29th
        ("2026-03-30T09:00", "grace"),
        ("2026-04-06T09:00", "ada"),
        ("2027-03-22T09:00", "ada"),
    ],
)
def test_people_take_turns_at_the_same_hour_of_the_wall_clock(moment: str, person: str | None) -> None:
    assert on_duty(parse_rotation(WEEKLY), at(moment, "Europe/Vienna")) == person


@pytest.mark.requirement("attention:rotation")
def test_an_override_wins_while_it_lasts() -> None:
    rotation = parse_rotation({**WEEKLY, "overrides": [OVERRIDE]})

    assert [on_duty(rotation, at(day)) for day in ("2026-03-24T00:00", "2026-03-25T00:00")] == ["eve", "ada"]


@pytest.mark.requirement("attention:rotation")
def test_a_handover_in_the_hour_that_is_not_happens_at_the_jump() -> None:
    rotation = parse_rotation({**WEEKLY, "anchor": "2026-03-22T02:30"})

    assert on_duty(rotation, at("2026-03-29T01:59", "Europe/Vienna")) == "ada"
    assert on_duty(rotation, at("2026-03-29T03:00", "Europe/Vienna")) == "grace"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"anchor": "soon"}, "anchor"),
        ({"anchor": "2026-03-23T09:00Z"}, "anchor"),
        ({"zone": "Vienna"}, "zone"),
        ({"every_days": 0}, "every_days"),
        ({"people": ["ada", "eve"]}, "people.1"),
        ({"people": "ada"}, "people"),
        ({"overrides": [{**OVERRIDE, "until": "2026-03-24T00:00:00Z", "person": "ada"}]}, "overrides.0.until"),
        ({"layers": []}, "layers"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_rotation({**WEEKLY, **change}, people={"ada", "grace"})

    assert [one.field for one in refused.value.fields] == [field]


WEDNESDAY = to_us(datetime(2026, 3, 25, 22, 30, tzinfo=UTC))  # in Berlin it is 23:30
SUNDAY = to_us(datetime(2026, 3, 29, 12, 0, tzinfo=UTC))  # the day Berlin's clocks went forward


@pytest.mark.parametrize(
    ("now_us", "wish", "zone", "until"),
    [
        pytest.param(WEDNESDAY, Wish.HOUR, "UTC", "2026-03-25T23:30", id="an hour"),
        pytest.param(WEDNESDAY, Wish.TOMORROW, "UTC", "2026-03-26T09:00", id="tomorrow"),
        pytest.param(WEDNESDAY, Wish.TOMORROW, "Europe/Berlin", "2026-03-26T08:00", id="tomorrow in Berlin"),
        pytest.param(WEDNESDAY, Wish.TOMORROW, "Asia/Tokyo", "2026-03-27T00:00", id="already tomorrow in Tokyo"),
        pytest.param(WEDNESDAY, Wish.NEXT_WEEK, "Europe/Berlin", "2026-03-30T07:00", id="Monday, in summer time"),
        pytest.param(SUNDAY, Wish.NEXT_WEEK, "UTC", "2026-03-30T09:00", id="Monday is the day after Sunday"),
        pytest.param(SUNDAY, Wish.UNTIL, "Europe/Berlin", "2026-05-01T08:15", id="a time of one's own"),
        pytest.param(SUNDAY, Wish.UNTIL, "Nowhere/At_all", "2026-05-01T10:15", id="a zone nobody knows is UTC"),
    ],
)
def test_a_wish_becomes_an_instant(now_us: int, wish: Wish, zone: str, until: str) -> None:
    assert to_datetime(snoozed_until(wish, "2026-05-01T10:15", zone, now_us)) == datetime.fromisoformat(f"{until}Z")


def test_a_time_the_clock_jumps_over_is_the_moment_it_jumps() -> None:
    early = to_us(datetime(2026, 3, 28, tzinfo=UTC))

    assert snoozed_until(Wish.UNTIL, "2026-03-29T02:30", "Europe/Berlin", early) == to_us(
        datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    "typed", ["", "soon", "2026-13-01T09:00", "2020-01-01T09:00", "2099-01-01T09:00+02:00", "9999-12-31T23:59"]
)
def test_what_is_no_coming_time_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        snoozed_until(Wish.UNTIL, typed, "UTC", WEDNESDAY)


# -- When questions are shown: the same policy as for notices --


RULES = book({"quiet_hours": WRITTEN_NIGHT, "let_pass": ["time_sensitive"]}).rules(PERSON)
EVENING, MORNING = at("23:00"), at("2026-01-06T07:00")


async def times(database: Database, household: dict[str, Any] | None = None, **people: dict[str, Any]) -> QuestionTimes:
    policy = parse_policy(household) if household is not None else None
    book = NoticeBook(store=StoredNotices(database), people=names(database), clock=FakeClock(), household=policy)
    for name, one in people.items():
        await Attention(book=book).set_policy(name, parse_policy(one))
    return QuestionTimes(book=book)


@pytest.mark.requirement("attention:questions-wait")
async def test_without_a_policy_it_is_shown_at_once_and_ends_as_asked(sqlite_database: Database) -> None:
    none = await times(sqlite_database)
    assert await none.shown_at("owner", "butler:health", Urgency.NORMAL, EVENING) == EVENING
    until = await none.deadline(["owner"], "butler:health", Urgency.NORMAL, asked_us=EVENING, deadline_us=EVENING + 1)
    assert until == EVENING + 1


@pytest.mark.requirement("attention:questions-wait")
async def test_in_quiet_hours_it_waits_for_their_end_and_its_time_stands_still(sqlite_database: Database) -> None:
    quiet = await times(sqlite_database, {"quiet_hours": WRITTEN_NIGHT})
    assert await quiet.shown_at("owner", "butler:health", Urgency.NORMAL, EVENING) == MORNING
    asked = {"asked_us": EVENING, "deadline_us": EVENING + 10 * MINUTE}
    assert await quiet.deadline(["owner"], "butler:health", Urgency.NORMAL, **asked) == MORNING + 10 * MINUTE


@pytest.mark.requirement("attention:questions-wait")
async def test_of_several_people_the_one_who_sees_it_first_counts(sqlite_database: Database) -> None:
    quiet = await times(sqlite_database, owner={"quiet_hours": WRITTEN_NIGHT})
    asked = {"asked_us": EVENING, "deadline_us": EVENING + 10 * MINUTE}
    until = await quiet.deadline(["owner", "ann"], "butler:health", Urgency.NORMAL, **asked)
    assert until == EVENING + 10 * MINUTE


@pytest.mark.requirement("attention:questions-wait")
async def test_what_passes_is_what_the_person_lets_pass_and_no_asker_names_itself_critical(
    sqlite_database: Database,
) -> None:
    quiet = await times(
        sqlite_database,
        {"quiet_hours": WRITTEN_NIGHT, "let_pass": ["time_sensitive"], "agents": {"alarm": {"critical": True}}},
    )
    shown = {
        (asker, urgency): await quiet.shown_at("owner", f"butler:{asker}", urgency, EVENING)
        for asker in ("alarm", "health")
        for urgency in (Urgency.NORMAL, Urgency.TIME_SENSITIVE)
    }
    assert set(shown.values()) == {EVENING, MORNING} and shown["health", Urgency.TIME_SENSITIVE] == EVENING
    strict = await times(sqlite_database, {"quiet_hours": WRITTEN_NIGHT, "agents": {"alarm": {"critical": True}}})
    assert await strict.shown_at("owner", "butler:alarm", Urgency.CRITICAL, EVENING) == EVENING
    assert await strict.shown_at("owner", "butler:health", Urgency.CRITICAL, EVENING) == MORNING


@pytest.mark.requirement("attention:questions-wait")
@pytest.mark.parametrize(
    ("asked", "deadline", "shown", "ends"),
    [
        ("12:00", "13:00", "12:00", "13:00"),
        ("23:00", "23:30", "2026-01-06T07:00", "2026-01-06T07:30"),
        ("21:50", "22:20", "21:50", "2026-01-06T07:20"),
    ],
)
def test_quiet_time_does_not_count(asked: str, deadline: str, shown: str, ends: str) -> None:
    assert shown_at(RULES, Urgency.NORMAL, at(asked)) == at(shown)
    assert open_deadline(RULES, Urgency.NORMAL, at(asked), at(deadline)) == at(ends)


@pytest.mark.requirement("attention:questions-wait")
def test_what_passes_quiet_hours_keeps_its_deadline() -> None:
    assert open_deadline(RULES, Urgency.TIME_SENSITIVE, at("23:00"), at("23:30")) == at("23:30")
    assert shown_at(RULES, Urgency.TIME_SENSITIVE, at("23:00")) == at("23:00")
