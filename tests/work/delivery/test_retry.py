"""What follows a failed attempt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.delivery import AttemptVerdict, DeliveryEvent, OnUncertain, Priority
from postroom.domain.errors import (
    CircuitOpenError,
    CredentialsRefused,
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    OverloadRejected,
    PostroomError,
    ProviderThrottled,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.work.delivery.retry import RetryPolicy, after_failure, backoff_seconds

POLICY = RetryPolicy()


def verdict(error: PostroomError, attempts: int = 1, **changes: object) -> AttemptVerdict:
    values = {"dice": 0.5, "on_uncertain": OnUncertain.RESEND, **changes}
    return after_failure(POLICY, attempts=attempts, error=error, **values)  # type: ignore[arg-type]


@pytest.mark.requirement("messenger:retry-policy", "messenger:non-retryable-errors")
@pytest.mark.parametrize(
    ("error", "attempts", "expected"),
    [
        (ValidationError("x"), 1, AttemptVerdict(DeliveryEvent.REJECT)),
        (InternalError("x"), 1, AttemptVerdict(DeliveryEvent.REJECT)),
        (TargetUnavailable("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (TargetUnavailable("x"), 2, AttemptVerdict(DeliveryEvent.RETRY, 2.0)),
        (TargetUnavailable("x"), 3, AttemptVerdict(DeliveryEvent.EXHAUST)),
        (TargetUnavailable("x"), 99, AttemptVerdict(DeliveryEvent.EXHAUST)),
        (TargetUnavailable("x", retry_after_seconds=30), 1, AttemptVerdict(DeliveryEvent.RETRY, 30)),
        (TargetUnavailable("x", retry_after_seconds=0.1), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (CredentialsRefused("x"), 1, AttemptVerdict(DeliveryEvent.EXHAUST)),
        (DeliveryTimeout("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (OverloadRejected("x", limit_type="global", retry_after_seconds=5), 1, AttemptVerdict(DeliveryEvent.RETRY, 5)),
        (CircuitOpenError("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (StoreUnavailable("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (ProviderThrottled("x", retry_after_seconds=35), 1, AttemptVerdict(DeliveryEvent.POSTPONE, 35)),
        (ProviderThrottled("x", retry_after_seconds=10**9), 1, AttemptVerdict(DeliveryEvent.POSTPONE, 3600)),
        (TargetUnavailable("x", retry_after_seconds=10**9), 1, AttemptVerdict(DeliveryEvent.RETRY, 3600)),
        (ProviderThrottled("x"), 99, AttemptVerdict(DeliveryEvent.POSTPONE, 1.0)),
        (OutcomeUncertain("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (OutcomeUncertain("x"), 3, AttemptVerdict(DeliveryEvent.EXHAUST)),
    ],
    ids=str,
)
def test_each_error_leads_to_its_verdict(error: PostroomError, attempts: int, expected: AttemptVerdict) -> None:
    assert verdict(error, attempts) == expected


def test_an_uncertain_outcome_is_held_when_the_policy_says_so() -> None:
    assert verdict(OutcomeUncertain("x"), on_uncertain=OnUncertain.HOLD) == AttemptVerdict(DeliveryEvent.HOLD)
    assert verdict(TargetUnavailable("x"), on_uncertain=OnUncertain.HOLD).event is DeliveryEvent.RETRY


def test_a_doubt_that_can_be_asked_about_outlives_refused_credentials() -> None:
    assert verdict(CredentialsRefused("x"), asks=True) == AttemptVerdict(DeliveryEvent.RETRY, 1.0)


def test_a_priority_may_have_more_patience() -> None:
    policy = RetryPolicy(attempts_by_priority={Priority.HIGH: 10})

    def event(attempts: int, priority: Priority) -> DeliveryEvent:
        return after_failure(
            policy,
            attempts=attempts,
            error=TargetUnavailable("x"),
            dice=0.5,
            on_uncertain=OnUncertain.RESEND,
            priority=priority,
        ).event

    assert [event(9, Priority.HIGH), event(10, Priority.HIGH), event(3, Priority.LOW)] == [
        DeliveryEvent.RETRY,
        DeliveryEvent.EXHAUST,
        DeliveryEvent.EXHAUST,
    ]


@pytest.mark.requirement("messenger:retry-with-exponential-backoff")
@pytest.mark.parametrize(("retry", "dice", "expected"), [(1, 0.0, 0.7), (1, 1.0, 1.3), (2, 0.5, 2.0), (4, 0.5, 8.0)])
def test_the_delay_doubles_and_is_shaken_by_three_tenths(retry: int, dice: float, expected: float) -> None:
    assert backoff_seconds(POLICY, retry, dice) == pytest.approx(expected)


@given(retry=st.integers(1, 10_000), dice=st.floats(0, 1, exclude_max=True), jitter=st.floats(0, 1))
def test_the_delay_is_never_negative_and_never_above_the_cap(retry: int, dice: float, jitter: float) -> None:
    policy = RetryPolicy(jitter=jitter)

    assert 0 <= backoff_seconds(policy, retry, dice) <= policy.max_seconds
