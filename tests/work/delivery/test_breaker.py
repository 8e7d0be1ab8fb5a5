"""What an attempt says about a provider, and when new work is refused."""

from __future__ import annotations

import pytest

from postroom.domain.breaker import BreakerPolicy, Circuit, CircuitState, Report
from postroom.domain.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    OutOfDescriptors,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.work.delivery.breaker import refusal, report_of

NOW = 1_000_000_000
POLICY = BreakerPolicy()


@pytest.mark.requirement("messenger:closed-to-open-transition")
@pytest.mark.parametrize(
    ("error", "report"),
    [
        (None, Report.SUCCESS),
        (TargetUnavailable("x"), Report.FAILURE),
        (DeliveryTimeout("x"), Report.FAILURE),
        (OutcomeUncertain("x"), Report.FAILURE),
        (ValidationError("x"), Report.NEUTRAL),
        (ProviderThrottled("x"), Report.NEUTRAL),
        (InternalError("x"), Report.NEUTRAL),
        (OutOfDescriptors(), Report.NEUTRAL),
    ],
    ids=repr,
)
def test_only_the_provider_s_own_failures_count(error: PostroomError | None, report: Report) -> None:
    assert report_of(error) is report


@pytest.mark.parametrize(
    ("circuit", "wait"),
    [
        (Circuit(), None),
        (Circuit(state=CircuitState.OPEN, opened_at_us=NOW - 10_000_000), 50.0),
        (Circuit(state=CircuitState.OPEN, opened_at_us=NOW - 90_000_000), 0.0),
        (Circuit(state=CircuitState.HALF_OPEN), None),
        (Circuit(state=CircuitState.HALF_OPEN, probes={"a": NOW + 9_000_000}), None),
        (Circuit(state=CircuitState.HALF_OPEN, probes={"a": NOW + 9_000_000, "b": NOW + 500_000}), 0.5),
        (Circuit(state=CircuitState.HALF_OPEN, probes={"a": NOW + 9_000_000, "b": NOW + 8_000_000}), 1.0),
        (Circuit(state=CircuitState.HALF_OPEN, probes={"a": NOW + 9_000_000, "b": NOW - 1}), None),
    ],
    ids=str,
)
def test_new_work_is_refused_while_open_and_while_every_probe_is_taken(circuit: Circuit, wait: float | None) -> None:
    error = refusal(circuit, POLICY, "telegram", NOW)

    assert (error.retry_after_seconds if error else None) == wait
    if error:
        assert error.message == f"the circuit of telegram is {circuit.state}"
