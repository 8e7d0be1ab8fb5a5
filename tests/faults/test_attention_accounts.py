"""The judgement of notices must see every kind of harm, or a clean table would mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from chaos.attention.accounts import COLUMNS, Accounts, Person, Place, Sent, judged
from chaos.attention.replay import otherwise
from chaos.attention.timing import SLOTS, before_the_hour
from chaos.crash_points import Point
from chaos.journal import Entry, Step
from chaos.scenarios.attention_kills import DIGEST, ESCALATION, POLICY
from tests.attention.sample import HOUR, MINUTE, PERSON, accepted, at, book, empty

from postroom.attention.model import Decision
from postroom.attention.rules.policy import parse_policy
from postroom.attention.rules.simulate import SimulatedRun, simulate
from postroom.attention.state import Acked, Fact, PolicyChanged, ReceiptIn, SendOutcome

ASKING = {"repeat_seconds": [300], "escalation": [{"after_seconds": 900, "channel": "email"}]}
ONE: Place = ("telegram", ("n1",))
MAIL: Place = ("email", ("n1",))
START = at("09:00")
ANSWER = Acked(at_us=START + 16 * MINUTE, notice="one")


def run(*more: Fact) -> SimulatedRun:
    first = accepted("one", START, "time_sensitive", needs_ack=True, text="#n1/1# Hello.")
    return simulate([first, *(more or (ANSWER,))], book(ASKING), state=empty(), until_us=START + 4 * HOUR)


def person(events: Sequence[Fact | Decision] | None = None, **changed: Any) -> Person:
    found = run()
    return Person(state=changed.pop("state", found.state), events=events or found.events, **changed)


def sent(*places: Place, marked: bool = False) -> list[Sent]:
    return [Sent(place=place, delivered=True, marked=marked) for place in places]


ALL = [ONE, ONE, ONE, ONE, MAIL]  # shown, repeated after 5, 10 and 15 minutes, by mail after 15


def journal(*entries: Entry) -> list[Entry]:
    return [Entry(1, Step.ANSWER, "n1", "one"), Entry(1, Step.ANSWERED, "n1", "0"), *entries]


def test_what_was_decided_and_arrived_is_sound() -> None:
    found = judged([person()], sent(*ALL), ALL, journal())

    assert found.complaints == ()
    assert found == Accounts(notices=1, messages=5)
    assert found.sound and len(found.numbers) == len(COLUMNS)


def test_each_kind_of_harm_is_seen() -> None:
    whole = run()
    early = [replace(one, at_us=START + MINUTE) if _is_repeat(one) else one for one in whole.events]
    late = (*whole.events, next(one for one in whole.events if _is_repeat(one)))
    found = {
        "a notice is gone": judged([person()], sent(*ALL), ALL, journal(Entry(1, Step.ANSWER, "n2", "two"))).lost,
        "it never arrived": judged([person()], sent(*ALL), [], journal()).lost,
        "the answer is gone": judged([person(state=run(_late_answer()).state)], sent(*ALL), ALL, journal()).lost,
        "it came twice": judged([person()], sent(*ALL), [*ALL, ONE], journal()).twice_unmarked,
        "a decision was sent twice": judged([person()], sent(*ALL, ONE), [*ALL, ONE], journal()).twice_unmarked,
        "too early": judged([person(early)], sent(*ALL), ALL, journal()).early,
        "before it was decided": judged([person()], sent(*ALL), ALL, journal(_left(START - 1))).early,
        "after the answer": judged([person(late)], sent(*ALL), ALL, journal()).after_answer,
        "a law": judged([person(broken=["L1"])], sent(*ALL), ALL, journal()).unaccounted,
        "a law at a death": judged([person()], sent(*ALL), ALL, journal(_broken())).unaccounted,
        "the replay": judged([person(otherwise=["x"])], sent(*ALL), ALL, journal()).otherwise,
    }

    assert {harm for harm, count in found.items() if not count} == set()


def test_a_copy_that_the_ledger_announces_is_counted_and_is_no_harm() -> None:
    found = judged([person()], sent(*ALL, marked=True), [*ALL, ONE], journal())

    assert (found.twice_marked, found.sound) == (1, True)


def test_what_may_wait_leaves_at_the_full_hour() -> None:
    said = Entry(1, Step.SAID, "n1", str(START + MINUTE))

    assert len(SLOTS) == 24
    assert before_the_hour([said, _left(START + HOUR)]) == []
    assert before_the_hour([said, _left(START + HOUR - 1)]) != []


@pytest.mark.requirement("attention:simulation-is-reality")
def test_the_replay_of_a_recorded_log_says_the_same() -> None:
    events = _recorded()

    assert otherwise(PERSON, events, book()) == []


@pytest.mark.requirement("attention:simulation-is-reality")
@pytest.mark.parametrize("change", ["left out", "another moment", "another channel"])
def test_the_replay_sees_what_was_decided_otherwise(change: str) -> None:
    events = _recorded()
    place = next(place for place, one in enumerate(events) if _is_repeat(one))
    one = events[place]
    assert isinstance(one, Decision)
    match change:
        case "left out":
            del events[place]
        case "another moment":
            events[place] = replace(one, at_us=one.at_us - MINUTE)
        case _:
            events[place] = replace(one, channel="email")

    assert otherwise(PERSON, events, book()) != []


def test_the_kills_pass_every_transaction_and_every_hand_over() -> None:
    points = {name: {point for point, _ in moments} for name, moments in _MOMENTS.items()}

    for name, commits in {
        "digest": ("accept", "digest"),
        "escalation": ("repeat", "answer"),
        "policy": ("policy",),
    }.items():
        around = {f"{when} {what}" for what in (*commits, "receipt") for when in ("before", "inside", "after")}
        assert around | {str(Point.AFTER_SEND), "after handed_over"} <= points[name]


_MOMENTS = {"digest": DIGEST, "escalation": ESCALATION, "policy": POLICY}


def _recorded() -> list[Fact | Decision]:
    """As a household writes it: a receipt a little after its decision, each with a moment of its own."""
    policy = PolicyChanged(at_us=START - 1, policy=parse_policy(ASKING))
    found = simulate([policy, _first()], book(), state=empty(), until_us=START, receipts=False)
    events, state = list(found.events), found.state
    for minute in (5, 10):
        receipt = ReceiptIn(at_us=state.clock_us + 1, send=_last_send(events), outcome=SendOutcome.OK)
        more = simulate([receipt], book(ASKING), state=state, until_us=START + minute * MINUTE + 10, receipts=False)
        events, state = [*events, *more.events], more.state
    return events


def _first() -> Fact:
    return accepted("one", START, "time_sensitive", needs_ack=True, text="#n1/1# Hello.")


def _last_send(events: Sequence[Fact | Decision]) -> str:
    return next(one.send for one in reversed(events) if isinstance(one, Decision) and one.send)


def _late_answer() -> Acked:
    return Acked(at_us=START + 16 * MINUTE, notice="another")


def _is_repeat(event: Fact | Decision) -> bool:
    return isinstance(event, Decision) and event.kind == "repeat"


def _left(at_us: int) -> Entry:
    return Entry(1, Step.LEFT, "n1", f"telegram {at_us}")


def _broken() -> Entry:
    return Entry(1, Step.UNACCOUNTED, "-", "L1")
