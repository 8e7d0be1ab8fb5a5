"""The laws find what breaks them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.attention.rules.test_decide import run
from tests.attention.sample import NIGHT, accepted, at, book, empty

from postroom.attention.model import NoticeState
from postroom.attention.rules import laws
from postroom.attention.state import Acked

RULES = book({"quiet_hours": NIGHT, "repeat_seconds": [300]})
RUN = run(RULES, accepted("a", "21:00", "time_sensitive", needs_ack=True), accepted("b", "23:00"), until_us=at("23:00"))
pytestmark = pytest.mark.requirement("attention:conservation")


def with_state(name: str, **changes: object) -> object:
    return replace(RUN.state, notices={**RUN.state.notices, name: replace(RUN.state.notices[name], **changes)})


def test_a_sound_log_has_nothing_unaccounted() -> None:
    assert laws.unaccounted(RUN.state, RULES, RUN.events, empty(), at("23:00")) == []


def test_a_lost_notice_is_found() -> None:
    lost = replace(RUN.state, notices={"a": RUN.state.notices["a"]})

    assert laws.every_notice_in_one_cell(lost, ["a", "b"]) == ["L1 b was accepted and is nowhere"]


def test_a_cause_that_decided_twice_is_found() -> None:
    assert laws.every_send_has_one_cause([RUN.decisions[0], RUN.decisions[0]])


def test_a_member_of_no_digest_is_found() -> None:
    assert laws.in_one_digest_at_most(with_state("b", state=NoticeState.DIGESTED))


def test_a_row_that_is_not_the_fold_of_its_log_is_found() -> None:
    assert laws.the_log_is_the_state(with_state("b", repeats=3), RUN.events, empty())


def test_what_is_due_and_not_done_is_found() -> None:
    assert laws.every_open_notice_has_a_next(RUN.state, RULES, at("2026-01-06T08:00"))


def test_what_is_held_too_long_or_for_nothing_is_found() -> None:
    late, idle = with_state("b", until_us=at("2026-02-06T08:00")), with_state("b", until_us=None, reasons=())

    assert "L5 b is held too long" in laws.every_open_notice_has_a_next(late, RULES, at("23:00"))
    assert "L5 b waits for nothing" in laws.every_open_notice_has_a_next(idle, RULES, at("23:00"))


def test_a_repeat_after_the_answer_is_found() -> None:
    repeat = next(one for one in RUN.decisions if one.kind == "repeat")

    assert laws.nothing_after_the_answer([Acked(at_us=0, notice="a"), repeat])


def test_what_counts_as_sent_without_a_receipt_is_found() -> None:
    assert laws.receipts_are_what_was_sent(with_state("b", state=NoticeState.SENT))
