"""A wish is kept whole or refused with the field that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inbox.examples import AT_NIGHT as EXAMPLES_AT_NIGHT
from tests.inbox.examples import BY_EMAIL

from postroom.attention.model import Budget, Policy, QuietWindow
from postroom.attention.rules.policy import merged
from postroom.inbox.acts import PatchPreferences
from postroom.inbox.model import DeliveryChannel, Preferences
from postroom.inbox.preferences import changed, own_policy, shown, warnings_of, with_quiet_hours
from postroom.kernel.acts.reading import read
from postroom.kernel.values.errors import Refused, ValidationError
from postroom.kernel.values.ids import to_datetime, to_us
from postroom.kernel.values.zones import is_zone, known_zone, zone_names
from postroom.message.wishes import Urgency


def test_nobody_who_said_nothing_gets_e_mail() -> None:
    assert not Preferences().delivery_channel.has_email


def test_one_field_leaves_the_others_alone() -> None:
    after = changed(EXAMPLES_AT_NIGHT, Preferences(delivery_channel=DeliveryChannel.EMAIL), ["delivery_channel"])

    assert after == replace(EXAMPLES_AT_NIGHT, delivery_channel=DeliveryChannel.EMAIL)


TIMES = ["quiet_hours_start", "quiet_hours_end"]


def test_quiet_hours_are_taken_away_together_and_not_one_of_them() -> None:
    after = changed(EXAMPLES_AT_NIGHT, Preferences(), TIMES)

    assert (after.quiet_hours_start, after.quiet_hours_end) == (None, None)
    for one in TIMES:
        with pytest.raises(ValidationError) as refused:
            changed(EXAMPLES_AT_NIGHT, Preferences(), [one])
        assert [complaint.field for complaint in refused.value.fields] == [one]


@pytest.mark.parametrize(
    ("wishes", "fields"),
    [
        pytest.param({"delivery_channel": "pigeon"}, ["delivery_channel"], id="channel"),
        pytest.param({"delivery_channel": ["both"]}, ["delivery_channel"], id="channel of another type"),
        pytest.param({"email": "nobody"}, ["email"], id="no address"),
        pytest.param({"email": "a@example.com\r\nBcc: b@example.com"}, ["email"], id="an address with a line break"),
        pytest.param({"email": 7}, ["email"], id="address of another type"),
        pytest.param({"quiet_hours_start": "25:00", "quiet_hours_end": "7:00"}, TIMES, id="no times of day"),
        pytest.param({"quiet_hours_start": 79200, "quiet_hours_end": "07:00"}, ["quiet_hours_start"], id="seconds"),
        pytest.param({"quiet_hours_start": "22:00+01", "quiet_hours_end": "07:00"}, ["quiet_hours_start"], id="offset"),
        pytest.param({"quiet_hours_timezone": "Mars/Olympus"}, ["quiet_hours_timezone"], id="zone"),
        pytest.param({"high_priority_passes": 1}, ["high_priority_passes"], id="flag"),
    ],
)
def test_a_wrong_wish_is_refused_by_name(wishes: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(Refused) as refused:
        read(PatchPreferences, wishes)

    assert [one.field for one in refused.value.fields] == fields


def test_a_wish_is_read_as_it_is_kept() -> None:
    wishes = {"email": "Ada@EXAMPLE.com", "quiet_hours_start": "22:00", "quiet_hours_end": "07:30:15"}
    one, _ = read(PatchPreferences, {**wishes, "quiet_hours_timezone": None})

    assert (one.email, one.quiet_hours_start, one.quiet_hours_end) == ("Ada@example.com", time(22), time(7, 30, 15))
    assert (one.quiet_hours_timezone, set(one.names)) == ("", {*wishes, "quiet_hours_timezone"})


@pytest.mark.parametrize(
    ("kept", "email_enabled", "warning"),
    [
        (Preferences(), False, None),
        (BY_EMAIL, True, None),
        (BY_EMAIL, False, "E-mail is switched off in this household (inbox.email_enabled): no copy is mailed."),
        (replace(BY_EMAIL, email=None), True, "No e-mail address is confirmed yet: no copy is mailed."),
        (
            Preferences(delivery_channel=DeliveryChannel.EMAIL),
            True,
            "No e-mail address is confirmed yet: no copy is mailed, and the bell stays silent.",
        ),
    ],
)
def test_a_wish_that_cannot_come_true_is_kept_with_a_warning(
    kept: Preferences, email_enabled: bool, warning: str | None
) -> None:
    assert warnings_of(kept, email_enabled=email_enabled) == ([warning] if warning else [])


@pytest.mark.parametrize(
    ("wish", "confirmed", "email", "pending"),
    [
        pytest.param("new@example.com", False, "ada@example.com", "new@example.com", id="new"),
        pytest.param("new@example.com", True, "new@example.com", None, id="new, from the operator"),
        pytest.param("ada@example.com", False, "ada@example.com", None, id="the one there was"),
        pytest.param(None, False, None, None, id="none any more"),
    ],
)
def test_a_new_address_counts_when_it_is_confirmed_and_the_old_one_until_then(
    wish: str | None, confirmed: bool, email: str | None, pending: str | None
) -> None:
    before = Preferences(email="ada@example.com", email_pending="other@example.com")

    after = changed(before, Preferences(email=wish), ["email"], confirmed=confirmed)

    assert (after.email, after.email_pending) == (email, pending)


def test_other_wishes_leave_a_waiting_address_alone() -> None:
    before = Preferences(email_pending="new@example.com")

    assert changed(before, Preferences(), ["delivery_channel"]).email_pending == "new@example.com"


NEW_YORK = "America/New_York"


@dataclass(frozen=True)
class QuietHours:
    """As a person says them in the inbox."""

    start: time
    end: time
    zone: str

    @property
    def wished(self) -> Preferences:
        return Preferences(quiet_hours_start=self.start, quiet_hours_end=self.end, quiet_hours_timezone=self.zone)

    def until(self, now: datetime) -> datetime | None:
        """As the rules have it that judge the e-mail copies."""
        ends = merged(None, own_policy(self.wished)).quiet_until(Urgency.NORMAL, to_us(now))
        return None if ends is None else to_datetime(ends)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def quiet(start: str, end: str, zone: str = "UTC") -> QuietHours:
    return QuietHours(time.fromisoformat(start), time.fromisoformat(end), zone)


@pytest.mark.parametrize(
    ("hours", "now", "ends"),
    [
        pytest.param(quiet("22:00", "07:00"), at(2026, 1, 1, 22), at(2026, 1, 2, 7), id="at the start"),
        pytest.param(quiet("22:00", "07:00"), at(2026, 1, 1, 21, 59, 59), None, id="just before the start"),
        pytest.param(quiet("22:00", "07:00"), at(2026, 1, 2, 7), None, id="at the end"),
        pytest.param(
            quiet("22:00", "07:00"), at(2026, 1, 2, 6, 59, 59, 999_999), at(2026, 1, 2, 7), id="just before the end"
        ),
        pytest.param(
            quiet("22:00", "07:00:30"), at(2026, 1, 2, 7, 0, 10), at(2026, 1, 2, 7, 0, 30), id="seconds count"
        ),
        pytest.param(quiet("08:00", "17:00"), at(2026, 1, 2, 12), at(2026, 1, 2, 17), id="within one day"),
        pytest.param(quiet("22:00", "00:00"), at(2026, 1, 2, 23, 59, 59), at(2026, 1, 3), id="until midnight"),
        pytest.param(quiet("00:00", "06:00"), at(2026, 1, 2), at(2026, 1, 2, 6), id="from midnight"),
        pytest.param(quiet("12:00", "12:00"), at(2026, 1, 2, 12), None, id="start is end means never"),
        pytest.param(
            quiet("22:00", "02:30", NEW_YORK), at(2026, 3, 8, 6, 30), at(2026, 3, 8, 7), id="the end is skipped"
        ),
        pytest.param(quiet("22:00", "02:30", NEW_YORK), at(2026, 3, 8, 7), None, id="at the jump over the end"),
        pytest.param(
            quiet("22:00", "01:30", NEW_YORK), at(2026, 11, 1, 5, 10), at(2026, 11, 1, 6, 30), id="the end comes twice"
        ),
        pytest.param(
            quiet("22:00", "01:30", NEW_YORK), at(2026, 11, 1, 5, 45), at(2026, 11, 1, 6, 30), id="between both ends"
        ),
        pytest.param(quiet("22:00", "01:30", NEW_YORK), at(2026, 11, 1, 6, 30), None, id="after the second end"),
        pytest.param(quiet("22:00", "07:00", NEW_YORK), at(2026, 3, 8, 4), at(2026, 3, 8, 11), id="the short night"),
        pytest.param(quiet("22:00", "07:00", NEW_YORK), at(2026, 11, 1, 3), at(2026, 11, 1, 12), id="the long night"),
        pytest.param(quiet("02:10", "02:50", NEW_YORK), at(2026, 3, 8, 7), None, id="skipped altogether"),
        pytest.param(
            quiet("02:30", "05:00", NEW_YORK), at(2026, 3, 8, 7), at(2026, 3, 8, 9), id="the start is skipped"
        ),
        pytest.param(
            quiet("22:00", "07:00", "Asia/Kolkata"),
            at(2026, 1, 1, 16, 30),
            at(2026, 1, 2, 1, 30),
            id="half an hour off",
        ),
        pytest.param(
            quiet("22:00", "07:00", "Australia/Lord_Howe"),
            at(2026, 4, 4, 13),
            at(2026, 4, 4, 20, 30),
            id="clocks change by half an hour",
        ),
        pytest.param(
            quiet("22:00", "07:00", "Pacific/Apia"), at(2011, 12, 30, 9), at(2011, 12, 30, 17), id="a day left out"
        ),
    ],
)
def test_quiet_ends(hours: QuietHours, now: datetime, ends: datetime | None) -> None:
    assert hours.until(now) == ends


def shown_as_quiet(hours: QuietHours, now: datetime) -> bool:
    """What somebody who only looks at the wall clock would say."""
    shown = now.astimezone(ZoneInfo(hours.zone)).time()
    if hours.start < hours.end:
        return hours.start <= shown < hours.end
    return hours.start > hours.end and (shown >= hours.start or shown < hours.end)


def check(hours: QuietHours, now: datetime) -> None:
    ends = hours.until(now)
    if shown_as_quiet(hours, now):
        assert ends is not None, (hours, now)
    if ends is not None:
        assert now < ends <= now + timedelta(hours=50), (hours, now, ends)
        assert hours.until(ends) is None, (hours, now, ends)
        assert hours.until(ends - timedelta(microseconds=1)) == ends, (hours, now, ends)
        assert hours.until(now + (ends - now) / 2) == ends, (hours, now, ends)


times = st.builds(time, st.integers(0, 23), st.sampled_from([0, 1, 15, 30, 45, 59]), st.sampled_from([0, 0, 0, 30]))


@settings(max_examples=400, deadline=None)
@given(
    zone=st.sampled_from(sorted(zone_names())),
    start=times,
    end=times,
    now=st.datetimes(datetime(2024, 1, 1), datetime(2031, 1, 1)),
)
def test_in_every_zone_quiet_is_what_the_wall_clock_says_and_has_one_end(
    zone: str, start: time, end: time, now: datetime
) -> None:
    check(QuietHours(start, end, zone), now.replace(tzinfo=UTC))


@cache
def offset_changes() -> dict[tuple[datetime, timedelta, timedelta], str]:
    """Every change of an offset from 2024 to 2030, with one zone that makes it: others that do are no different."""
    found: dict[tuple[datetime, timedelta, timedelta], str] = {}
    days = [at(2024, 1, 1) + timedelta(days=number) for number in range(2558)]
    for name in sorted(zone_names()):
        zone = ZoneInfo(name)
        offsets = [day.astimezone(zone).utcoffset() or timedelta() for day in days]
        for number, (before, after) in enumerate(pairwise(offsets)):
            if before != after:
                found.setdefault((_change(zone, days[number], before), before, after), name)
    return found


def _change(zone: ZoneInfo, earlier: datetime, before: timedelta) -> datetime:
    later = earlier + timedelta(days=1)
    while later - earlier > timedelta(seconds=1):
        middle = earlier + (later - earlier) / 2
        earlier, later = (middle, later) if middle.astimezone(zone).utcoffset() == before else (earlier, middle)
    return later.replace(microsecond=0)


@pytest.mark.timeout(300)
def test_around_every_change_of_an_offset_from_2024_to_2030() -> None:
    changes = offset_changes()
    assert len(changes) > 200
    for (moment, _, _), zone in changes.items():
        for minutes in (-100, -60, -30, -1, 0, 1, 30, 60, 100):
            now = moment + timedelta(minutes=minutes)
            shown = now.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
            around = ((shown - timedelta(minutes=40)).time(), (shown + timedelta(minutes=50)).time())
            for start, end in (around, (time(22), time(2, 30)), (time(22), time(1, 30))):
                check(
                    QuietHours(start.replace(second=0, microsecond=0), end.replace(second=0, microsecond=0), zone), now
                )


@pytest.mark.parametrize(
    "name",
    ["", "Mars/Olympus", "America", "../../etc/passwd", "localtime", "posixrules", "europe/berlin", "x" * 300, "UTC\0"],
)
def test_what_is_no_zone_is_not_taken_for_one(name: str) -> None:
    assert not is_zone(name)
    assert known_zone(name) == ZoneInfo("UTC")


def test_preferences_without_both_times_have_no_quiet_hours() -> None:
    assert own_policy(Preferences()) is None
    kept = Preferences(quiet_hours_start=time(22), quiet_hours_end=time(7))
    assert own_policy(kept) == Policy(quiet_hours=(NIGHT,))


NIGHT = QuietWindow(time(22), time(7))
SIESTA = QuietWindow(time(13), time(15), ("sat", "sun"))
AT_NIGHT = Preferences(
    quiet_hours_start=time(22),
    quiet_hours_end=time(7),
    quiet_hours_timezone="Europe/Berlin",
    high_priority_passes=True,
)
BERLIN = Policy(zone="Europe/Berlin", quiet_hours=(NIGHT,), let_pass=(Urgency.TIME_SENSITIVE,))
SEVERAL = replace(BERLIN, quiet_hours=(NIGHT, SIESTA), budget=Budget(per_hour=2))


@pytest.mark.requirement("attention:one-quiet-hours")
@pytest.mark.parametrize(
    ("own", "before", "after", "household", "expected"),
    [
        pytest.param(None, Preferences(), AT_NIGHT, None, BERLIN, id="set for the first time"),
        pytest.param(
            None,
            Preferences(),
            replace(Preferences(), delivery_channel=DeliveryChannel.BOTH, quiet_hours_timezone="Asia/Kolkata"),
            None,
            None,
            id="a zone alone makes no policy",
        ),
        pytest.param(BERLIN, AT_NIGHT, Preferences(), None, None, id="taken away"),
        pytest.param(
            SEVERAL, AT_NIGHT, Preferences(), None, replace(SEVERAL, quiet_hours=None), id="the rest of a policy stays"
        ),
        pytest.param(
            SEVERAL,
            AT_NIGHT,
            replace(AT_NIGHT, delivery_channel=DeliveryChannel.EMAIL),
            None,
            SEVERAL,
            id="what is not changed keeps every window",
        ),
        pytest.param(
            SEVERAL,
            AT_NIGHT,
            replace(AT_NIGHT, high_priority_passes=False),
            None,
            replace(SEVERAL, let_pass=()),
            id="what may pass keeps every window",
        ),
        pytest.param(
            SEVERAL,
            AT_NIGHT,
            replace(AT_NIGHT, quiet_hours_end=time(8)),
            None,
            replace(SEVERAL, quiet_hours=(QuietWindow(time(22), time(8)),)),
            id="other times are one daily window",
        ),
        pytest.param(
            None, AT_NIGHT, Preferences(), BERLIN, Policy(quiet_hours=()), id="none, whatever the household has"
        ),
    ],
)
def test_what_a_person_changes_in_the_inbox_is_changed_in_the_policy(
    own: Policy | None, before: Preferences, after: Preferences, household: Policy | None, expected: Policy | None
) -> None:
    assert with_quiet_hours(own, before, after, household) == expected


def test_the_households_quiet_hours_are_shown_to_those_who_set_none() -> None:
    assert shown(Preferences(), BERLIN, "UTC") == AT_NIGHT


def test_times_are_those_of_the_policy_then_of_the_person_then_of_the_household() -> None:
    def zone(own: str = "", person: str | None = None, household: Policy | None = None) -> str:
        kept = Preferences(quiet_hours_start=time(22), quiet_hours_end=time(7), quiet_hours_timezone=own, zone=person)
        return shown(kept, household, "Europe/Lisbon").quiet_hours_timezone

    assert zone("Asia/Kolkata", "Asia/Tokyo", BERLIN) == "Asia/Kolkata"
    assert zone(person="Asia/Tokyo", household=BERLIN) == "Europe/Berlin"
    assert zone(person="Asia/Tokyo") == "Asia/Tokyo"
    assert zone() == "Europe/Lisbon"
