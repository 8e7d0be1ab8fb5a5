"""The comparison must see every kind of harm, or a clean table would mean nothing."""

from __future__ import annotations

from typing import Any

import pytest
from chaos.journal import Entry, Step
from chaos.ledger_compare import Cause, Comparison, Row, compare

ALL = frozenset(Cause)


def row(token: str = "m1", **changed: Any) -> Row:
    usual: dict[str, Any] = {"parts": 1, "status": "delivered", "possible_duplicate": False, "uncertain_attempts": 0}
    return Row(token=token, **{**usual, **changed})


def answer_entry(token: str = "m1", detail: str = "stored") -> Entry:
    return Entry(1, Step.ANSWER, token, detail)


def steps(*names: Step, process: int = 1, token: str = "m1") -> list[Entry]:
    return [Entry(process, name, token, "-") for name in names]


def test_one_copy_of_an_accepted_message_is_sound() -> None:
    found = compare([row()], {"m1": {1: 1}}, [answer_entry(), *steps(Step.MARK, Step.SEND, Step.SETTLED)])

    assert found == Comparison(accepted=1, delivered=1)
    assert found.sound
    assert found.line() == (
        "accepted 1 · lost 0 · duplicates marked 0 · duplicates unmarked 0 · uncertain explained 0 · unexplained 0"
    )


@pytest.mark.parametrize(
    ("rows", "copies"),
    [
        pytest.param([], {}, id="accepted and not in the ledger"),
        pytest.param([row()], {}, id="called delivered and never arrived"),
        pytest.param([row(parts=2)], {"m1": {1: 1}}, id="the second part is missing"),
        pytest.param([row(status="pending")], {}, id="never finished"),
        pytest.param([row(status="in_progress")], {"m1": {1: 1}}, id="never settled"),
        pytest.param([row("m1"), row("m2", status="failed")], {"m1": {1: 1}, "m3": {1: 1}}, id="sent without a record"),
    ],
)
def test_a_loss_is_seen(rows: list[Row], copies: dict[str, dict[int, int]]) -> None:
    found = compare(rows, copies, [answer_entry()])

    assert found.lost == 1
    assert not found.sound


def test_a_stored_message_counts_even_if_nobody_was_told() -> None:
    assert compare([row()], {}, []).lost == 1


@pytest.mark.parametrize("status", ["dead_lettered", "failed"])
def test_a_message_that_is_held_for_a_person_is_not_lost(status: str) -> None:
    assert compare([row(status=status)], {}, [answer_entry()]).lost == 0


@pytest.mark.parametrize(
    ("rows", "marked", "unmarked"),
    [
        pytest.param([row(possible_duplicate=True)], 1, 0, id="said"),
        pytest.param([row()], 0, 1, id="unsaid"),
        pytest.param([row(), row(possible_duplicate=True)], 0, 1, id="two rows for one message"),
    ],
)
def test_a_second_copy_is_either_marked_or_harm(rows: list[Row], marked: int, unmarked: int) -> None:
    found = compare(rows, {"m1": {1: 2}}, [answer_entry()], ALL)

    assert (found.duplicates_marked, found.duplicates_unmarked) == (marked, unmarked)
    assert found.sound is (unmarked == 0)


def test_a_second_copy_of_one_part_is_a_duplicate() -> None:
    assert compare([row(parts=2)], {"m1": {1: 1, 2: 2}}, [answer_entry()]).duplicates_unmarked == 1


@pytest.mark.parametrize(
    ("journal", "cause"),
    [
        pytest.param(steps(Step.MARK, Step.SEND), Cause.PROCESS, id="died during the call"),
        pytest.param(steps(Step.MARK, Step.SEND, Step.UNCERTAIN, Step.SETTLED), Cause.PROVIDER, id="cut off"),
        pytest.param(steps(Step.MARK, Step.MARK_LOST), Cause.STORE, id="the mark may stand"),
        pytest.param(steps(Step.MARK, Step.SEND, Step.FENCED), Cause.CLOCK, id="taken over while working"),
    ],
)
def test_an_unknown_outcome_needs_a_cause_that_was_injected(journal: list[Entry], cause: Cause) -> None:
    rows, copies = [row(possible_duplicate=True, uncertain_attempts=1)], {"m1": {1: 2}}

    explained = compare(rows, copies, journal, frozenset({cause}))
    unexplained = compare(rows, copies, journal, frozenset())

    assert (explained.uncertain_explained, explained.uncertain_unexplained) == (1, 0)
    assert (unexplained.uncertain_explained, unexplained.uncertain_unexplained) == (0, 1)
    assert not unexplained.sound


def test_one_accident_explains_one_outcome() -> None:
    found = compare(
        [row(uncertain_attempts=2)], {"m1": {1: 1}}, steps(Step.MARK, Step.SEND), frozenset({Cause.PROCESS})
    )

    assert (found.uncertain_explained, found.uncertain_unexplained) == (1, 1)


def test_a_settled_call_explains_nothing() -> None:
    journal = steps(Step.MARK, Step.SEND, Step.SETTLED)

    assert compare([row(uncertain_attempts=1)], {"m1": {1: 1}}, journal, ALL).uncertain_unexplained == 1


def test_comparisons_add_up() -> None:
    one, two = Comparison(accepted=1, lost=1, complaints=("a",)), Comparison(accepted=2, complaints=("b",))

    assert one + two == Comparison(accepted=3, lost=1, complaints=("a", "b"))
