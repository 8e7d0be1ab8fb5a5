"""How an attempt ends, and what becomes of a lost worker's delivery."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.world.store.sample_deliveries import NOON_US, new_delivery

from postroom.domain.delivery import (
    AttemptResult,
    AttemptVerdict,
    DeliveryEvent,
    OnUncertain,
    QuarantineReason,
    Receipt,
    Status,
)
from postroom.domain.errors import OutcomeUncertain, PostroomError, TargetUnavailable, ValidationError
from postroom.work.delivery.retry import RetryPolicy
from postroom.work.delivery.settlement import delivered, failed, outcome_of, put_back
from postroom.work.delivery.sweep import conclude

CLAIM = replace(new_delivery().claimed(sending=True), attempts=1, calls=4)
UNCERTAIN = OutcomeUncertain("no answer")


def test_a_success_keeps_an_earlier_doubt() -> None:
    done = delivered(replace(CLAIM, possible_duplicate=True), Receipt("7"), started_us=NOON_US, now_us=NOON_US + 5)

    assert (done.status, done.attempts, done.possible_duplicate, done.receipt) == (Status.DELIVERED, 2, True, "7")
    assert done.snapshot().provider_delivery_id == "7"


@pytest.mark.parametrize(
    ("error", "event", "status", "attempts", "duplicate", "reason"),
    [
        (TargetUnavailable("x"), DeliveryEvent.RETRY, Status.PENDING, 2, False, None),
        (TargetUnavailable("x"), DeliveryEvent.POSTPONE, Status.PENDING, 1, False, None),
        (
            TargetUnavailable("x"),
            DeliveryEvent.EXHAUST,
            Status.DEAD_LETTERED,
            2,
            False,
            QuarantineReason.RETRIES_EXHAUSTED,
        ),
        (ValidationError("x"), DeliveryEvent.REJECT, Status.FAILED, 2, False, None),
        (UNCERTAIN, DeliveryEvent.RETRY, Status.PENDING, 2, True, None),
        (UNCERTAIN, DeliveryEvent.HOLD, Status.DEAD_LETTERED, 2, False, QuarantineReason.OUTCOME_UNCERTAIN),
        (UNCERTAIN, DeliveryEvent.EXHAUST, Status.DEAD_LETTERED, 2, False, QuarantineReason.OUTCOME_UNCERTAIN),
    ],
    ids=str,
)
def test_a_failure_is_written_as_its_verdict_says(
    error: PostroomError,
    event: DeliveryEvent,
    status: Status,
    attempts: int,
    duplicate: bool,
    reason: QuarantineReason | None,
) -> None:
    done = failed(CLAIM, error, AttemptVerdict(event, 2.5), started_us=NOON_US, now_us=NOON_US, dead_letter_id="dl")

    assert (done.status, done.attempts, done.possible_duplicate) == (status, attempts, duplicate)
    assert (done.quarantine.reason if done.quarantine else None) is reason
    assert done.not_before_us == NOON_US + 2_500_000
    assert (done.waiting_reason is not None) is (status is Status.PENDING)


def test_a_move_that_is_not_in_the_table_is_a_bug() -> None:
    with pytest.raises(KeyError):
        put_back(CLAIM, DeliveryEvent.APPROVE, now_us=NOON_US, reason=None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (UNCERTAIN, AttemptResult.UNCERTAIN),
        (TargetUnavailable("x"), AttemptResult.RETRYABLE_ERROR),
        (ValidationError("x"), AttemptResult.NON_RETRYABLE_ERROR),
    ],
)
def test_an_attempt_s_outcome(error: PostroomError, outcome: AttemptResult) -> None:
    assert outcome_of(error) is outcome


@pytest.mark.parametrize(
    ("sending", "on_uncertain", "attempts", "status", "used"),
    [
        (False, OnUncertain.HOLD, 2, Status.PENDING, 2),  # nothing had left: free of charge
        (True, OnUncertain.RESEND, 0, Status.PENDING, 1),
        (True, OnUncertain.RESEND, 2, Status.DEAD_LETTERED, 3),
        (True, OnUncertain.HOLD, 0, Status.DEAD_LETTERED, 1),
    ],
)
def test_a_lost_worker_s_delivery(
    sending: bool, on_uncertain: OnUncertain, attempts: int, status: Status, used: int
) -> None:
    claim = replace(CLAIM, sending=sending, on_uncertain=on_uncertain, attempts=attempts)

    done = conclude(claim, RetryPolicy(), now_us=NOON_US, dice=0.5, dead_letter_id="dl")

    assert (done.status, done.attempts) == (status, used)
    assert done.possible_duplicate is (sending and status is Status.PENDING)
    assert (done.attempt is not None) is sending
