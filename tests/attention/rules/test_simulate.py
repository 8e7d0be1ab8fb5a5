"""The same decisions on a clock that is not real."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attention.histories import URGENCY, History, book_of, engine, histories, policies
from tests.attention.sample import DAY, MINUTE, accepted, at, empty
from tests.property_tests import at_most

from postroom.attention.reading import left_at
from postroom.attention.rules.decide import decide
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import NoticeAccepted, PolicyChanged, ReceiptIn, SendOutcome
from postroom.message.wishes import URGENCIES

# -- What must not change a log, and what must change it in one direction only --


quickly = settings(max_examples=at_most(25), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.requirement("attention:extra-wakes")
@quickly
@given(histories(), st.integers(7, 181))
def test_extra_wakes_change_nothing(history: History, every: int) -> None:
    """The same run, asked at many moments at which nothing is due, and started again from what was folded."""
    whole, end = engine(history)
    state, rules, made = empty(), book_of(history), []

    def ask(now: int) -> int | None:
        nonlocal state
        while True:
            decisions, next_at = decide(state, rules, now)
            for one in decisions:
                made.append(one)
                state = fold(state, one)
            arriving = [one for one in state.sends.values() if one.pending and not one.replaced]
            arriving = [one for one in arriving if one.channel not in state.down]
            for send in arriving:
                state = fold(state, ReceiptIn(at_us=now, send=send.key, outcome=SendOutcome.OK))
            if not arriving:
                return next_at

    facts, now = sorted(history.facts, key=lambda one: one.at_us), history.start_us
    next_at = ask(now)
    while now < end:
        due = [moment for moment in (next_at, facts[0].at_us if facts else None, end) if moment is not None]
        now = min([now + every * MINUTE, *due])
        next_at = ask(now)
        while facts and facts[0].at_us == now:
            event = facts.pop(0)
            rules = rules.with_own("ada", event.policy) if isinstance(event, PolicyChanged) else rules
            state = fold(state, event)
            next_at = ask(now)

    assert made == list(whole.decisions)


@pytest.mark.requirement("attention:extra-wakes")
@quickly
@given(histories())
def test_at_a_fixpoint_nothing_is_decided(history: History) -> None:
    run, end = engine(history)
    rules = book_of(history)
    for event in sorted(history.facts, key=lambda one: one.at_us):
        rules = rules.with_own("ada", event.policy) if isinstance(event, PolicyChanged) else rules

    assert decide(run.state, rules, end)[0] == ()


def _shifted(event: Any, shift: int) -> Any:
    """Every number in a fact is a moment, but for the room that a notice takes in a digest."""
    moments = event.__dataclass_fields__.keys() - {"room"}
    changes = {name: _later(getattr(event, name), shift) for name in moments}
    return replace(event, **changes)


def _later(value: Any, shift: int) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return _shifted(value, shift)
    return value + shift if isinstance(value, int) and not isinstance(value, bool) else value


@quickly
@given(policies("Europe/Vienna"), st.lists(st.tuples(st.integers(0, 2000), URGENCY), min_size=1, max_size=6))
def test_a_higher_urgency_never_makes_a_notice_later(
    policy: dict[str, Any], given_notices: list[tuple[int, str]]
) -> None:
    """Where there are slots: without them what is passive waits for nothing, and counts for no budget."""
    policy = {**policy, "slots": ["08:00", "12:30", "18:00"], "agents": {"guard": {"critical": True}}}
    policy.pop("ceiling", None)
    start = at("2026-01-05T00:00")
    facts = [accepted(f"n{n}", start + minute * MINUTE, urgency) for n, (minute, urgency) in enumerate(given_notices)]
    rules, created = PolicyBook(people={"ada": parse_policy(policy)}), start + 1000 * MINUTE
    moments = []
    for urgency in URGENCIES:
        mine = accepted("mine", created, urgency, agent="guard", expires_us=created + 30 * DAY)
        run = simulate([*facts, mine], rules, state=empty(), until_us=created + 3 * DAY)
        moments.append(left_at(run)["mine"])

    assert moments == sorted(moments, reverse=True)


@pytest.mark.requirement("attention:extra-wakes")
@quickly
@given(histories(), st.randoms(use_true_random=False))
def test_the_order_in_which_simultaneous_notices_come_in_changes_nothing_of_when_each_person_is_shown_them(
    history: History, dice: Any
) -> None:
    """Persons do not share a state: those of one person are the same whatever others are mixed in."""
    mine = [event for event in history.facts if isinstance(event, NoticeAccepted)]
    others = [replace(event, notice=replace(event.notice, person="eve")) for event in mine]
    mixed = [*mine, *others]
    dice.shuffle(mixed)
    mixed.sort(key=lambda event: event.at_us)
    again = [event for event in mixed if event.notice.person == "ada"]
    again.sort(key=lambda event: (event.at_us, mine.index(event)))

    assert simulate(again, book_of(history), state=empty()) == simulate(mine, book_of(history), state=empty())
