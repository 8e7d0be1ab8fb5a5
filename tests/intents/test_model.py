from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.intents.model import RECEIPT, TERMINAL, TRANSITIONS, IntentStatus, steps_to
from postroom.kernel.values.errors import Code, Refused

STATUSES = st.sampled_from(list(IntentStatus))


@given(STATUSES, STATUSES)
def test_every_move_on_the_way_is_in_the_table_or_the_goal_is_refused(start: IntentStatus, goal: IntentStatus) -> None:
    try:
        moves = steps_to(start, goal)
    except Refused as error:
        assert error.code is Code.ILLEGAL_TRANSITION
        assert goal not in TRANSITIONS[start]
        return
    for before, after in zip((start, *moves), moves, strict=False):
        assert after in TRANSITIONS[before]
    assert moves[-1] is goal


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_what_has_ended_stays_as_it_ended(status: IntentStatus) -> None:
    for goal in IntentStatus:
        with pytest.raises(Refused):
            steps_to(status, goal)


def test_an_answer_may_come_before_work_was_noted() -> None:
    assert steps_to(IntentStatus.DELIVERED, IntentStatus.COMPLETED) == (
        IntentStatus.IN_PROGRESS,
        IntentStatus.COMPLETED,
    )


@pytest.mark.requirement("intent:delivery-receipt-status")
def test_a_receipt_knows_four_words() -> None:
    assert set(RECEIPT) == set(IntentStatus)
    assert set(RECEIPT.values()) == {"accepted", "running", "done", "failed"}
