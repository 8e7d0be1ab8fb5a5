"""A policy on a form and back."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.attention.model import DAYS, Policy
from postroom.attention.pages.policy_form import complaints_of, form_of, read, typed_form, written
from postroom.attention.rules.policy import parse_policy
from postroom.console.visit import Form
from postroom.kernel.values.errors import ValidationError

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


def test_what_the_household_says_is_shown_and_not_copied() -> None:
    form = form_of(None, HOUSEHOLD)

    assert [(one.start, one.end) for one in form.windows] == [("23:00", "06:00")]
    assert [(one.name, one.critical) for one in form.agents] == [("alarm", True)]
    assert read(form, None, HOUSEHOLD) is None


def test_what_is_taken_away_on_the_form_is_none_and_not_the_households() -> None:
    assert written(typed_form(Form()), None, HOUSEHOLD) == {
        "quiet_hours": [],
        "let_pass": [],
        "agents": {"alarm": {"critical": False}},
    }


def test_without_any_wish_there_is_no_policy() -> None:
    assert read(typed_form(Form()), None, None) is None


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
