"""When a dead letter may be replayed: a rule over values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US, FakeClock

from postroom.delivery.afterwards.dead_letters import DeadLetters, objections
from postroom.delivery.model import DeadLetter, EarlierReplay, Replay, ReplayRefused
from postroom.kernel.values.ids import DeadLetterId, DeliveryId
from postroom.message.delivery import Intent, QuarantineReason, Status

LETTER = DeadLetter(
    id=DeadLetterId("letter"),
    delivery_id=DeliveryId("original"),
    original_delivery_id=DeliveryId("original"),
    request_id="request",
    idempotency_key="key",
    origin_butler="health",
    channel="telegram",
    intent=Intent.SEND,
    target_identity="1000",
    quarantine_reason=QuarantineReason.RETRIES_EXHAUSTED,
    error_class="timeout",
    error_summary="no answer",
    total_attempts=3,
    replay_count=0,
    discarded_at_us=None,
    discard_reason=None,
    created_at_us=START_US,
    replays=(),
    uncertain=False,
)
OVER = [Status.FAILED, Status.DEAD_LETTERED]


def replays(*statuses: Status) -> tuple[EarlierReplay, ...]:
    return tuple(
        EarlierReplay(delivery_id=DeliveryId(f"replay {n}"), number=n, status=status)
        for n, status in enumerate(statuses, 1)
    )


class KeepsOne:
    """A record of one letter; what is decided is what is answered."""

    def __init__(self, letter: DeadLetter) -> None:
        self.letter_kept = letter
        self.decided: Replay | ReplayRefused | None = None

    async def replay(self, dead_letter_id: DeadLetterId, decide: Any) -> Replay | ReplayRefused | None:
        self.decided = decide(self.letter_kept)
        return self.decided


def dead_letters(letter: DeadLetter, handed_over: list[str]) -> DeadLetters:
    return DeadLetters(
        record=KeepsOne(letter),  # type: ignore[arg-type]  # a replay asks nothing else of it
        channels={"telegram"},
        channel_names=frozenset({"telegram", "email"}),
        hand_over=lambda: handed_over.append("pending"),
        clock=FakeClock(),
        mint=lambda now: f"new at {now}",
    )


@pytest.mark.requirement("messenger:dead-letter-replay")
@pytest.mark.parametrize("status", Status)
def test_only_a_replay_that_is_over_and_did_not_arrive_leaves_the_way_free(status: Status) -> None:
    assert (objections(replace(LETTER, replays=replays(status)), {"telegram"}) == []) is (status in OVER)


@pytest.mark.parametrize(
    ("letter", "said"),
    [
        (replace(LETTER, discarded_at_us=START_US), "it was discarded"),
        (replace(LETTER, channel="email"), "no credentials for email are set"),
        (replace(LETTER, replays=replays(Status.DELIVERED)), "replay 1 (replay 1) has delivered it"),
        (replace(LETTER, replays=replays(Status.FAILED, Status.PENDING)), "replay 2 (replay 2) is pending"),
    ],
)
def test_an_objection_says_what_stands_in_the_way(letter: DeadLetter, said: str) -> None:
    assert objections(letter, {"telegram"}) == [said]


@pytest.mark.requirement("messenger:replay-lineage")
@given(over=st.lists(st.sampled_from(OVER), max_size=8), key=st.sampled_from(["key", "key::replay-3"]))
async def test_numbers_count_up_on_the_original_key_without_a_gap(over: list[Status], key: str) -> None:
    handed_over: list[str] = []
    letter = replace(LETTER, replays=replays(*over), idempotency_key=key)

    answer = await dead_letters(letter, handed_over).replay("01980000-0000-7000-8000-000000000000")

    assert answer["replay_number"] == len(over) + 1
    assert answer["idempotency_key"] == f"key::replay-{len(over) + 1}"
    assert handed_over == ["pending"]


@pytest.mark.parametrize(("uncertain", "accept", "goes"), [(True, True, 1), (True, False, 0), (False, True, 1)])
async def test_consent_is_asked_for_only_where_there_is_doubt(uncertain: bool, accept: bool, goes: int) -> None:
    handed_over: list[str] = []
    letter = replace(LETTER, uncertain=uncertain)

    answer = await dead_letters(letter, handed_over).replay(
        "01980000-0000-7000-8000-000000000000", accept_duplicate=accept
    )

    assert len(handed_over) == goes
    assert answer.get("possible_duplicate", False) is (uncertain and accept)
