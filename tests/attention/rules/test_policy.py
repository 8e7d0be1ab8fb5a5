"""An absence is read as it was written, and a circle of delegates is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attention.attended import introduced
from tests.attention.histories import policies
from tests.attention.sample import PERSON, book, notice

from postroom.attention.attention import in_absences, in_policy, in_rotations, missing
from postroom.attention.considering import asks_for_more
from postroom.attention.model import Budget, Collecting, policy_hash, policy_mapping
from postroom.attention.rules.policy import (
    KEYS,
    THREE_SLOTS,
    Absence,
    Rules,
    absence_mapping,
    parse_absence,
    parse_policy,
)
from postroom.attention.rules.times import Rotation
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import ValidationError
from postroom.message.wishes import AttentionWish

WEEK = {"from": "2026-01-05T00:00:00.000000Z", "until": "2026-01-12T00:00:00.000000Z"}
LATER = {"from": "2026-02-05T00:00:00Z", "until": "2026-02-12T00:00:00Z"}
PEOPLE = {"ada", "grace", "eve"}


def parse(written: Any, absences: dict[str, tuple[Absence, ...]] | None = None) -> Absence:
    return parse_absence(written, person="ada", people=PEOPLE, absences=absences or {})


@pytest.mark.parametrize(
    "written", [WEEK, {**WEEK, "delegate": "grace", "let_pass": ["time_sensitive"], "categories": ["chat"]}]
)
def test_it_is_written_back_as_it_was_read(written: dict[str, Any]) -> None:
    assert absence_mapping(parse(written)) == written


@pytest.mark.requirement("attention:delegate-cycle-refused")
def test_delegates_who_would_stand_in_for_each_other_are_refused() -> None:
    grace = parse_absence({**WEEK, "delegate": "eve"}, person="grace", people=PEOPLE, absences={})
    eve = parse_absence({**WEEK, "delegate": "ada"}, person="eve", people=PEOPLE, absences={})

    with pytest.raises(ValidationError) as refused:
        parse({**WEEK, "delegate": "grace"}, {"grace": (grace,), "eve": (eve,)})

    assert [(one.field, one.code) for one in refused.value.fields] == [("delegate", "cycle")]
    assert parse({**LATER, "delegate": "grace"}, {"grace": (grace,), "eve": (eve,)}).delegate == "grace"


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"delegate": "ada"}, "delegate", "cycle"),
        ({"delegate": "bob"}, "delegate", "unknown_person"),
        ({"until": "2026-01-05T00:00:00Z"}, "until", "invalid"),
        ({"from": "monday"}, "from", "invalid"),
        ({"let_pass": ["loud"]}, "let_pass", "not_allowed"),
        ({"why": "sun"}, "why", "unknown_field"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], field: str, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse({**WEEK, **change})

    assert (field, code) in [(one.field, one.code) for one in refused.value.fields]


WHOLE = {
    "preset": "calm",
    "zone": "Europe/Vienna",
    "quiet_hours": [{"days": ["sat", "sun"], "from": "22:00", "until": "09:00"}, {"from": "23:00", "until": "07:00"}],
    "let_pass": ["time_sensitive"],
    "slots": ["08:00", "18:00"],
    "collect": {"window_seconds": 300, "most": 5},
    "budget": {"per_hour": 3},
    "ceiling": "time_sensitive",
    "agents": {"cook": {"ceiling": "normal"}, "guard": {"critical": True}},
    "categories": {"chat": {"ceiling": "passive"}, "other": {}},
    "escalation": [{"id": "mail", "after_seconds": 600, "channel": "email"}, {"after_seconds": 60, "person": "grace"}],
    "fallback": ["email"],
    "repeat_seconds": [300, 600],
    "duplicate_seconds": 60,
    "expires_seconds": 3600,
    "mandatory": ["security"],
}


def complaints(written: Any, **known: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        parse_policy(written, **known)
    return {one.field: one.code for one in refused.value.fields}


def test_a_policy_has_exactly_these_keys() -> None:
    assert set(KEYS) == set(WHOLE)


@pytest.mark.requirement("attention:policy-round-trip")
@pytest.mark.parametrize("written", [WHOLE, {}, {"slots": [], "quiet_hours": [], "agents": {}}])
def test_a_policy_is_written_back_as_it_was_read(written: dict[str, Any]) -> None:
    assert policy_mapping(parse_policy(written)) == written


@given(policies("Europe/Vienna"))
def test_every_policy_is_written_back_as_it_was_read(written: dict[str, Any]) -> None:
    assert policy_mapping(parse_policy(written)) == written


@pytest.mark.requirement("attention:policy-round-trip")
def test_the_hash_tells_policies_apart_and_does_not_depend_on_the_order_of_keys() -> None:
    whole, turned = parse_policy(WHOLE), parse_policy(dict(reversed(WHOLE.items())))

    assert policy_hash(None, whole) == policy_hash(None, turned)
    assert len({policy_hash(None, whole), policy_hash(whole, None), policy_hash(whole, whole)}) == 3


@pytest.mark.requirement("attention:policy-refused-by-name")
@pytest.mark.parametrize(
    ("written", "field", "code"),
    [
        ({"quiet": []}, "quiet", "unknown_field"),
        ([], "policy", "object_required"),
        ({"preset": "loud"}, "preset", "not_allowed"),
        ({"zone": "Vienna"}, "zone", "unknown_zone"),
        ({"zone": "../../etc/passwd"}, "zone", "unknown_zone"),
        ({"quiet_hours": {}}, "quiet_hours", "list_required"),
        ({"quiet_hours": [{"from": "22:00"}]}, "quiet_hours.0.until", "invalid"),
        ({"quiet_hours": [{"from": "24:00", "until": "07:00"}]}, "quiet_hours.0.from", "invalid"),
        ({"quiet_hours": [{"from": "22:00", "until": "07:00", "day": 1}]}, "quiet_hours.0.day", "unknown_field"),
        ({"quiet_hours": [{"from": "2:00", "until": "07:00"}]}, "quiet_hours.0.from", "invalid"),
        (
            {"quiet_hours": [{"days": ["monday"], "from": "22:00", "until": "07:00"}]},
            "quiet_hours.0.days",
            "not_allowed",
        ),
        ({"quiet_hours": [7]}, "quiet_hours.0", "object_required"),
        ({"let_pass": ["urgent"]}, "let_pass.0", "not_allowed"),
        ({"slots": [8]}, "slots.0", "invalid"),
        ({"slots": ["08:00"] * 51}, "slots", "too_many"),
        ({"collect": {"most": 3}}, "collect.window_seconds", "required"),
        ({"collect": {"window_seconds": True}}, "collect.window_seconds", "out_of_range"),
        ({"budget": {"per_week": 3}}, "budget.per_week", "unknown_field"),
        ({"budget": 3}, "budget", "object_required"),
        ({"ceiling": 3}, "ceiling", "not_allowed"),
        ({"agents": {"cook": {"critical": "yes"}}}, "agents.cook.critical", "boolean_required"),
        ({"agents": {"cook": 1}}, "agents.cook", "object_required"),
        ({"categories": {"chat": {"critical": True}}}, "categories.chat.critical", "unknown_field"),
        ({"escalation": [{"after_seconds": 1}]}, "escalation.0", "required"),
        ({"escalation": [{"after_seconds": 1, "channel": "a", "person": "b"}]}, "escalation.0", "required"),
        ({"escalation": [{"channel": "email"}]}, "escalation.0.after_seconds", "required"),
        ({"repeat_seconds": [5]}, "repeat_seconds.0", "out_of_range"),
        ({"duplicate_seconds": -1}, "duplicate_seconds", "out_of_range"),
        ({"expires_seconds": 1.5}, "expires_seconds", "out_of_range"),
        ({"mandatory": [""]}, "mandatory.0", "invalid"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_written(written: Any, field: str, code: str) -> None:
    assert complaints(written)[field] == code


@pytest.mark.requirement("attention:policy-refused-by-name")
def test_unknown_people_and_channels_are_refused() -> None:
    chain = [{"after_seconds": 1, "person": "eve"}, {"after_seconds": 1, "channel": "pigeon"}]
    written = {"escalation": chain, "fallback": ["smoke"]}

    assert complaints(written, people={"grace"}, channels={"email"}) == {
        "escalation.0.person": "unknown_person",
        "escalation.1.channel": "unknown_channel",
        "fallback.0": "unknown_channel",
    }


def test_no_one_escalates_to_oneself() -> None:
    written = {"escalation": [{"after_seconds": 1, "person": "ada"}]}

    assert complaints(written, person="ada") == {"escalation.0.person": "same_person"}


def test_two_steps_of_one_id_are_refused() -> None:
    written = {"escalation": [{"after_seconds": 1, "channel": "email"}, {"after_seconds": 2, "channel": "email"}]}

    assert complaints(written) == {"escalation.1": "duplicate"}


def test_everything_that_is_wrong_is_said_at_once() -> None:
    assert complaints({"zone": "x", "slots": [1], "ceiling": "y"}).keys() == {"zone", "slots.0", "ceiling"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*KEYS, "from", "days"]), inner),
    )
)
def test_whatever_is_given_is_read_or_refused(written: Any) -> None:
    try:
        policy = parse_policy(written)
    except ValidationError:
        return
    assert parse_policy(policy_mapping(policy)) == policy


def rules(person: dict[str, Any] | None = None, household: dict[str, Any] | None = None) -> Rules:
    return book(person, household).rules(PERSON)


@pytest.mark.requirement("attention:precedence")
def test_the_persons_value_counts_before_the_households() -> None:
    found = rules({"zone": "Europe/Vienna", "slots": []}, {"zone": "UTC", "slots": ["09:00"], "fallback": ["email"]})

    assert (found.zone, found.slots, found.fallback) == ("Europe/Vienna", (), ("email",))


@pytest.mark.requirement("attention:precedence")
@pytest.mark.parametrize(("own", "shared", "lowest"), [(3, 5, 3), (5, 3, 3), (None, 4, 4)])
def test_of_budgets_the_lower_counts(own: int | None, shared: int, lowest: int) -> None:
    mine = {"budget": {"per_hour": own}} if own else {}

    assert rules(mine, {"budget": {"per_hour": shared}}).budget == Budget(lowest, None)


@pytest.mark.requirement("attention:precedence")
@pytest.mark.parametrize(
    ("person", "household", "effective"),
    [
        ({"ceiling": "normal"}, {"ceiling": "time_sensitive"}, "normal"),
        ({"ceiling": "critical"}, {"ceiling": "passive"}, "passive"),
        ({"agents": {"cook": {"ceiling": "passive"}}}, {}, "passive"),
        ({"agents": {"cook": {"ceiling": "critical"}}}, {"agents": {"cook": {"ceiling": "normal"}}}, "normal"),
        ({"agents": {"guard": {"ceiling": "passive"}}}, {}, "time_sensitive"),
        ({"categories": {"chat": {"ceiling": "normal"}}}, {"categories": {"chat": {"ceiling": "passive"}}}, "passive"),
    ],
)
def test_of_ceilings_the_lowest_of_all_scopes_counts(person: Any, household: Any, effective: str) -> None:
    asked = notice("n", "09:00", "time_sensitive", category="chat")

    assert rules(person, household).urgency(asked) == effective


@pytest.mark.requirement("attention:critical-needs-a-grant")
@pytest.mark.parametrize(
    ("person", "household", "effective"),
    [
        ({}, {}, "time_sensitive"),
        ({"agents": {"cook": {"critical": True}}}, {}, "critical"),
        ({}, {"agents": {"cook": {"critical": True}}}, "critical"),
        ({"agents": {"cook": {"critical": False}}}, {"agents": {"cook": {"critical": True}}}, "time_sensitive"),
        ({"agents": {"cook": {"critical": True}}}, {"ceiling": "normal"}, "normal"),
    ],
)
def test_critical_needs_a_grant(person: Any, household: Any, effective: str) -> None:
    assert rules(person, household).urgency(notice("n", "09:00", "critical")) == effective


def test_a_preset_fills_what_its_own_scope_leaves_open() -> None:
    found = rules({"preset": "calm", "collect": {"window_seconds": 60}}, {"slots": ["05:00"]})

    assert (found.slots, found.collect) == (THREE_SLOTS, Collecting(60, 20))


def test_what_is_mandatory_in_the_household_is_so_for_everyone() -> None:
    assert rules({"mandatory": []}, {"mandatory": ["approvals"]}).mandatory == ("approvals",)


@pytest.mark.requirement("attention:neutral-by-default")
def test_without_any_policy_a_notice_needs_no_row() -> None:
    assert book().neutral(PERSON) and not asks_for_more(AttentionWish(category="news"))
    assert not book({}).neutral(PERSON)
    assert not book(household={}).neutral(PERSON)
    assert asks_for_more(AttentionWish(needs_ack=True))


# -- Who is named in policies, rotations and absences --


DUTY = {
    "duty": Rotation(
        anchor=datetime(2026, 1, 5, 9), zone="UTC", every_days=7, people=("ann", "bob"), overrides=((0, 1, "eve"),)
    )
}
CHAIN = [{"after_seconds": 60, "person": one} for one in ("ann", "duty", "carl")]


@pytest.mark.requirement("attention:people-exist")
async def test_each_is_named_by_the_field_it_stands_in(sqlite_database: Database) -> None:
    policy = parse_policy({"escalation": [*CHAIN, {"after_seconds": 60, "channel": "email"}]})
    named = [*in_policy(policy, DUTY, "attention."), *in_rotations(DUTY, "attention.rotations.")]
    named += in_absences([Absence(start_us=0, end_us=1, delegate="dora")], "away.")
    assert [one.field for one in await missing(await introduced(sqlite_database), named)] == [
        "attention.escalation.2.person",
        "attention.rotations.duty.people.1",
        "attention.rotations.duty.overrides.0.person",
        "away.delegate",
    ]


@pytest.mark.requirement("attention:people-exist")
async def test_without_a_policy_no_one_is_named() -> None:
    assert list(in_policy(None, DUTY)) == []
