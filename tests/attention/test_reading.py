"""Buttons under a notice: the same for the same notice, and no one else can make them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from tests.attention.histories import History, book_of, engine, histories
from tests.attention.sample import HOUR, NIGHT, accepted, at, book, empty, run

from postroom.attention.acts import PlanItemBody
from postroom.attention.reading import NoticeAct, notice_markup, plan, read_button
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import PolicyChanged


@pytest.mark.requirement("attention:buttons")
def test_a_button_of_another_household_or_with_another_notice_in_it_is_none() -> None:
    notice, other = "a" * 32, "b" * 32
    tokens = [one.token or "" for one in notice_markup(b"key", notice).every_button]

    assert [read_button(b"key", one) for one in tokens] == [(act, notice) for act in NoticeAct]
    assert all(len(one) <= 64 for one in tokens)
    for wrong in (tokens[0].replace(notice, other), tokens[0][:-1], f"{tokens[0]}x", "", "nope"):
        assert read_button(b"key", wrong) is None
    assert read_button(b"other key", tokens[0]) is None


@pytest.mark.requirement("attention:plan-is-reality")
def test_a_plan_says_when_what_where_why_and_unless() -> None:
    rules = book(
        {"quiet_hours": NIGHT, "repeat_seconds": [], "escalation": [{"after_seconds": 600, "person": "grace"}]}
    )
    held = run(rules, accepted("a", "23:00", "time_sensitive", needs_ack=True), until_us=at("23:00"))

    assert [PlanItemBody.model_validate(item).model_dump() for item in plan(held.state, rules, at("23:30"))][:2] == [
        {
            "at": "2026-01-06T07:00:00.000000Z",
            "what": "release",
            "where": "ada by telegram",
            "why": [],
            "unless": "it is read, withdrawn, snoozed or muted before",
        },
        {
            "at": "2026-01-06T07:10:00.000000Z",
            "what": "escalate",
            "where": "grace by telegram",
            "why": ["step"],
            "unless": "it is acknowledged, withdrawn or snoozed before",
        },
    ]


@pytest.mark.requirement("attention:plan-is-reality")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
def test_at_every_fact_the_plan_is_what_happened_until_the_next_one(history: History) -> None:
    whole, end = engine(history)
    rules = book_of(history)
    facts = sorted(history.facts, key=lambda one: one.at_us)
    for place, event in enumerate(facts):
        until = facts[place + 1].at_us if place + 1 < len(facts) else end
        now = simulate(facts[: place + 1], rules, state=empty(), until_us=event.at_us)
        book_now = rules
        for one in facts[: place + 1]:
            book_now = book_now.with_own("ada", one.policy) if isinstance(one, PolicyChanged) else book_now
        planned = simulate((), book_now, state=now.state, until_us=until)
        real = [one for one in whole.decisions if event.at_us < one.at_us < until]
        assert [one for one in planned.decisions if event.at_us < one.at_us < until] == real


def test_a_plan_changes_nothing() -> None:
    held = run(book({"quiet_hours": NIGHT}), accepted("a", "23:00"), until_us=at("23:00"))
    before = held.state

    plan(held.state, book({"quiet_hours": NIGHT}), at("23:00") + HOUR)

    assert held.state == before
