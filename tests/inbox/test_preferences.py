"""A wish is kept whole or refused with the field that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, time

import pytest
from hypothesis import strategies as st
from tests.inbox.examples import AT_NIGHT as EXAMPLES_AT_NIGHT
from tests.inbox.examples import BY_EMAIL

from postroom.attention.model import Budget, Policy, QuietWindow
from postroom.attention.rules.policy import merged
from postroom.inbox.acts import PatchPreferences
from postroom.inbox.model import DeliveryChannel, Preferences
from postroom.inbox.preferences import changed, own_policy, shown, warnings_of, with_quiet_hours
from postroom.kernel.acts.reading import read
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import to_datetime, to_us
from postroom.message.wishes import Urgency

TIMES = ["quiet_hours_start", "quiet_hours_end"]


def test_quiet_hours_are_taken_away_together_and_not_one_of_them() -> None:
    after = changed(EXAMPLES_AT_NIGHT, Preferences(), TIMES)

    assert (after.quiet_hours_start, after.quiet_hours_end) == (None, None)
    for one in TIMES:
        with pytest.raises(ValidationError) as refused:
            changed(EXAMPLES_AT_NIGHT, Preferences(), [one])
        assert [complaint.field for complaint in refused.value.fields] == [one]


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


def quiet(start: str, end: str, zone: str = "UTC") -> QuietHours:
    return QuietHours(time.fromisoformat(start), time.fromisoformat(end), zone)


times = st.builds(time, st.integers(0, 23), st.sampled_from([0, 1, 15, 30, 45, 59]), st.sampled_from([0, 0, 0, 30]))


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
