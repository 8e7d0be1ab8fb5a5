"""Words, times and forms of the pages of attention."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest

from postroom.attention.model import CELLS, DAYS, DECISION_WORDS, DecisionKind, Policy, Preset, QuietWindow
from postroom.attention.pages.policy_form import complaints_of, form_of, read, typed_form, written
from postroom.attention.pages.shown import (
    CELL_WORDS,
    PRESET_WORDS,
    later,
    policy_words,
    reason_words,
    week,
)
from postroom.attention.rules.policy import parse_policy
from postroom.attention.rules.times import typed_moment
from postroom.console.visit import Form
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import parse_text
from postroom.message.wishes import REASON_WORDS, Because, HoldReason

# -- Nothing that can happen is without words --


NOON = parse_text("2026-07-01T10:00:00Z")


def test_every_cell_reason_decision_and_preset_has_words() -> None:
    assert set(CELL_WORDS) == {*CELLS, "escalated"}
    assert set(REASON_WORDS) == set(Because)
    assert set(DECISION_WORDS) == set(DecisionKind)
    assert set(PRESET_WORDS) == set(Preset)


def test_the_reason_that_binds_comes_first_and_says_until_when_unless_that_is_said_already() -> None:
    reasons = [HoldReason(Because.CEILING), HoldReason(Because.QUIET, NOON)]

    assert reason_words(reasons, "Europe/Vienna")[0] == "quiet hours are on, until Wed 1 Jul 2026, 12:00"
    assert reason_words(reasons, "Europe/Vienna", NOON)[0] == "quiet hours are on"


def test_a_policy_is_said_without_what_is_not_set() -> None:
    policy = parse_policy(
        {
            "quiet_hours": [],
            "budget": {"per_day": 5},
            "escalation": [{"after_seconds": 600, "channel": "email"}, {"after_seconds": 60, "person": "ann"}],
            "agents": {"noisy": {"ceiling": "passive"}},
            "expires_seconds": 600,
        }
    )

    assert policy_words(policy) == [
        ("Quiet hours", "none"),
        ("Interruptions by one agent", "5 a day"),
        ("Agents", "noisy at most can wait"),
        ("Escalation", "after 10 minutes by email; after 1 minute to ann"),
        ("Also set", "expires_seconds"),
    ]


# -- Later, this evening, until midnight: by the clock of the person's zone --


ZONE = "Europe/Vienna"
NIGHT = parse_text("2026-07-01T21:30:00Z")


@pytest.mark.parametrize(
    ("wish", "typed", "until"),
    [
        ("hour", "", "2026-07-01T11:00:00Z"),
        ("evening", "", "2026-07-01T16:00:00Z"),
        ("tomorrow", "", "2026-07-02T07:00:00Z"),
        ("until", "2026-12-01T08:30", "2026-12-01T07:30:00Z"),
    ],
)
def test_each_choice_is_a_moment_of_the_persons_clock(wish: str, typed: str, until: str) -> None:
    assert later(wish, typed, ZONE, NOON) == parse_text(until)


@pytest.mark.parametrize(("wish", "typed"), [("evening", ""), ("until", "2020-01-01T00:00"), ("until", "x"), ("y", "")])
def test_what_has_passed_and_what_is_no_choice_is_refused(wish: str, typed: str) -> None:
    with pytest.raises(ValidationError):
        later(wish, typed, ZONE, NIGHT)


@pytest.mark.parametrize("typed", ["", "tomorrow", "2026-01-01T10:00+01:00", "0001-01-01T00:00"])
def test_a_moment_that_is_none_is_refused_at_its_field(typed: str) -> None:
    with pytest.raises(ValidationError) as refused:
        typed_moment("from", typed, ZONE)
    assert refused.value.fields[0].field == "from"


# -- Quiet hours of a week, drawn and said --


OVER_MIDNIGHT = QuietWindow(time(22), time(7))


def test_a_night_is_the_end_of_one_day_and_the_beginning_of_the_next() -> None:
    days = week([OVER_MIDNIGHT], [])

    assert {day.spans for day in days} == {((0, 420), (1320, 1440))}
    assert days[0].words == "00:00–07:00, 22:00–24:00"


def test_a_window_of_some_days_ends_on_the_morning_after() -> None:
    days = week([QuietWindow(time(23), time(9), ("sun",))], [time(18), time(8)])

    assert [day.words for day in days] == ["00:00–09:00", *["no quiet hours"] * 5, "23:00–24:00"]
    assert days[3].slots == (480, 1080)


def test_windows_that_touch_are_one_and_equal_times_never_begin() -> None:
    assert week([QuietWindow(time(0), time(12)), QuietWindow(time(12), time(0))], [])[0].words == "quiet all day"
    assert week([QuietWindow(time(9), time(9))], [])[0].words == "no quiet hours"


# -- A policy on a form and back --


WHOLE: dict[str, Any] = {
    "preset": "calm",
    "zone": "Europe/Vienna",
    "quiet_hours": [{"from": "22:00", "until": "07:00"}, {"days": ["sat"], "from": "13:00", "until": "14:00"}],
    "let_pass": ["time_sensitive"],
    "slots": ["09:00", "18:30"],
    "collect": {"window_seconds": 60},
    "budget": {"per_day": 9},
    "ceiling": "time_sensitive",
    "agents": {"noisy": {"ceiling": "passive"}, "alarm": {"critical": True}, "calm": {"critical": False}},
    "categories": {"ads": {"ceiling": "passive"}},
    "escalation": [{"after_seconds": 600, "channel": "email"}],
    "mandatory": ["security"],
}
HOUSEHOLD = parse_policy(
    {
        "preset": "focus",
        "quiet_hours": [{"from": "23:00", "until": "06:00"}],
        "let_pass": ["time_sensitive"],
        "agents": {"alarm": {"critical": True}},
    }
)


@pytest.mark.parametrize("household", [None, HOUSEHOLD])
def test_a_policy_that_was_only_looked_at_stays_as_it_is(household: Policy | None) -> None:
    own = parse_policy(WHOLE)

    assert read(form_of(own, household), own, household) == own


def test_what_is_taken_away_on_the_form_is_none_and_not_the_households() -> None:
    assert written(typed_form(Form()), None, HOUSEHOLD) == {
        "quiet_hours": [],
        "let_pass": [],
        "agents": {"alarm": {"critical": False}},
    }


def test_rows_left_empty_do_not_count_and_a_row_is_named_by_its_place_among_the_filled() -> None:
    fields = [("window_1_from", "22:00"), ("window_1_until", "x"), *(("window_1_day", day) for day in DAYS)]
    form = typed_form(Form((*fields, ("slot", ""), ("slot", "25:00"), ("per_hour", "-1"))))

    with pytest.raises(ValidationError) as refused:
        read(form, None, None)

    assert set(complaints_of(refused.value)) == {"quiet_hours.0.until", "slots.0", "budget.per_hour"}


def test_a_window_without_a_day_asks_for_one() -> None:
    form = typed_form(Form((("window_0_from", "22:00"), ("window_0_until", "07:00"))))

    with pytest.raises(ValidationError) as refused:
        read(form, None, None)

    assert complaints_of(refused.value) == {"quiet_hours.0.days": "choose at least one day"}


def test_an_agent_that_is_named_twice_is_refused() -> None:
    rows = [(f"agent_{n}_{what}", value) for n in (0, 1) for what, value in (("name", "a"), ("critical", "yes"))]

    with pytest.raises(ValidationError) as refused:
        read(typed_form(Form(tuple(rows))), None, None)

    assert complaints_of(refused.value) == {"agents": "name a more than once"}
