"""A notice that needs an answer is repeated and taken further, in bounds, until it has one."""

from __future__ import annotations

import pytest
from tests.attention.sample import NIGHT, OTHER, PERSON, accepted, at, book, empty, log, run, states

from postroom.attention import state as fact
from postroom.attention.rules.decide import decide
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.rules.times import parse_rotation

CHAIN = [{"after_seconds": 600, "channel": "email"}, {"id": "second", "after_seconds": 600, "person": OTHER}]
URGENT = {"needs_ack": True}


@pytest.mark.requirement("attention:repeat-and-escalate")
def test_it_is_repeated_taken_further_and_given_up() -> None:
    happened = run(
        book({"escalation": CHAIN, "repeat_seconds": [3600]}), accepted("a", "09:00", "time_sensitive", **URGENT)
    )

    assert log(happened) == [
        ("a", "release", "09:00"),
        ("a", "escalate", "09:10"),
        ("a", "escalate", "09:20"),
        ("a", "repeat", "10:20"),
        ("a", "repeat", "11:20"),
        ("a", "give_up", "12:00"),
    ]
    assert [(one.person, one.channel) for one in happened.decisions[1:3]] == [(PERSON, "email"), (OTHER, "telegram")]


@pytest.mark.requirement("attention:ack-stops")
def test_after_an_answer_nothing_follows() -> None:
    ack = fact.Acked(at_us=at("09:12"), notice="a", by=OTHER)
    happened = run(book({"escalation": CHAIN}), accepted("a", "09:00", "time_sensitive", **URGENT), ack)

    assert log(happened)[-1] == ("a", "escalate", "09:10")
    assert states(happened) == {"a": "acknowledged"}


@pytest.mark.requirement("attention:repeat-and-escalate")
def test_what_is_not_urgent_waits_for_its_answer_without_a_repeat() -> None:
    happened = run(book({"escalation": CHAIN}), accepted("a", "09:00", needs_ack=True))

    assert log(happened) == [("a", "release", "09:00"), ("a", "give_up", "09:00+3")]


@pytest.mark.requirement("attention:repeat-and-escalate")
def test_neither_repeats_nor_steps_enter_quiet_hours_and_the_clock_of_a_step_stands_still() -> None:
    rules = book({"escalation": CHAIN[1:], "quiet_hours": NIGHT}, **{OTHER: {"quiet_hours": NIGHT}})
    happened = run(rules, accepted("a", "21:57", "time_sensitive", **URGENT))

    assert log(happened, "repeat", "escalate") == [("a", "escalate", "07:07+1")]


@pytest.mark.requirement("attention:repeat-and-escalate")
def test_what_is_critical_goes_on_through_the_night() -> None:
    rules = book({"escalation": CHAIN[1:], "agents": {"cook": {"critical": True}}}, **{OTHER: {"quiet_hours": NIGHT}})

    assert log(run(rules, accepted("a", "23:00", "critical")), "escalate") == [("a", "escalate", "23:10")]


@pytest.mark.requirement("attention:asleep")
def test_a_machine_that_slept_takes_one_step_and_not_three() -> None:
    rules, state = (
        book({"escalation": CHAIN, "repeat_seconds": [300]}),
        fold(empty(), accepted("a", "09:00", "time_sensitive", **URGENT)),
    )
    for one in decide(state, rules, at("09:00"))[0]:
        state = fold(
            fold(state, one), fact.ReceiptIn(at_us=one.at_us, send=one.send or "", outcome=fact.SendOutcome.OK)
        )

    made, _ = decide(state, rules, at("11:00"))

    assert [str(one.kind) for one in made] == ["repeat", "escalate"]


@pytest.mark.requirement("attention:policy-change")
def test_an_edited_chain_neither_pages_again_nor_skips() -> None:
    edited = parse_policy({"escalation": [{"after_seconds": 60, "channel": "sms"}, *CHAIN], "repeat_seconds": []})
    happened = run(
        book({"escalation": CHAIN, "repeat_seconds": []}),
        accepted("a", "09:00", "time_sensitive", **URGENT),
        fact.PolicyChanged(at_us=at("09:15"), policy=edited),
    )

    steps = [one.step for one in happened.decisions if one.kind == "escalate"]
    assert steps == ["channel:email", "channel:sms", "second"]


@pytest.mark.requirement("attention:rotation")
def test_a_step_reaches_who_is_on_duty_and_an_empty_one_is_skipped_and_recorded() -> None:
    shifts = {"anchor": "2026-01-05T00:00", "zone": "UTC", "every_days": 7}
    chain = [{"after_seconds": 60, "person": "gap"}, {"after_seconds": 60, "person": "duty"}]
    rules = PolicyBook(
        people={PERSON: parse_policy({"escalation": chain, "repeat_seconds": []})},
        rotations={
            "duty": parse_rotation({**shifts, "people": [OTHER]}),
            "gap": parse_rotation({**shifts, "people": []}),
        },
    )
    happened = run(rules, accepted("a", "09:00", "time_sensitive", **URGENT), until_us=at("10:00"))

    assert [(one.step, one.person, str(one.reasons[0].reason)) for one in happened.decisions[1:]] == [
        ("person:gap", None, "empty_step"),
        ("person:duty", OTHER, "step"),
    ]
    assert [entry[2] for entry in log(happened)] == ["09:00", "09:01", "09:01"]


def test_a_successor_that_asks_takes_over_from_one_that_waits() -> None:
    facts = [
        accepted(name, when, "time_sensitive", key="disk", **URGENT) for name, when in (("a", "09:00"), ("b", "09:02"))
    ]
    happened = run(book({"repeat_seconds": [300]}), *facts, until_us=at("09:10"))

    assert states(happened) == {"a": "merged", "b": "waiting"}
    assert log(happened, "repeat") == [("b", "repeat", "09:07")]


def test_a_repeat_at_the_last_moment_has_its_chance_before_it_is_given_up() -> None:
    happened = run(book({"repeat_seconds": [5400]}), accepted("a", "09:00", "time_sensitive", **URGENT))

    assert log(happened)[-2:] == [("a", "repeat", "12:00"), ("a", "give_up", "12:10")]
