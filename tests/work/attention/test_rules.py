"""The household's policy and the person's own become one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.work.attention.sample import PERSON, book, notice

from postroom.domain.attention import AttentionWish
from postroom.work.attention.accepting import asks_for_more
from postroom.work.attention.policy import Budget, Collecting
from postroom.work.attention.rules import THREE_SLOTS, Rules


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
