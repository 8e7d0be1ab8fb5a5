"""When a dead letter may be replayed: a rule over values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import START_US

from postroom.delivery.afterwards.dead_letters import objections
from postroom.delivery.model import DeadLetter, EarlierReplay
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
