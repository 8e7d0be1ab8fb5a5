"""What a caller is told: notify_response.v1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.domain.delivery import DeliveryFailure, Intent, Status
from postroom.domain.errors import (
    CircuitOpenError,
    DeliveryTimeout,
    ErrorClass,
    FieldError,
    InternalError,
    OverloadRejected,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Snapshot
from postroom.domain.notify_response import notify_response, read_response
from postroom.domain.outcome import refused
from postroom.domain.snapshot_outcome import outcome_of

SNAPSHOT = Snapshot(
    id=DeliveryId("d"),
    idempotency_key="k",
    fingerprint="f",
    request_id="other",
    origin_butler="health",
    channel="telegram",
    intent=Intent.SEND,
    status=Status.DELIVERED,
    attempts=1,
    possible_duplicate=False,
    not_before_us=0,
    waiting_reason=None,
    provider_delivery_id="77",
    failure=None,
)


@pytest.mark.requirement("notify:successful-delivery-response", "notify:notify-response-envelope")
def test_a_delivered_message_is_ok() -> None:
    assert notify_response(outcome_of(SNAPSHOT, request_id="r")) == {
        "schema_version": "notify_response.v1",
        "status": "ok",
        "request_context": {"request_id": "r"},
        "delivery": {
            "channel": "telegram",
            "delivery_id": "d",
            "status": "delivered",
            "provider_delivery_id": "77",
        },
    }


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (Status.DELIVERED, "ok"),
        (Status.PENDING, "accepted"),
        (Status.IN_PROGRESS, "accepted"),
        (Status.AWAITING_APPROVAL, "pending_approval"),
        (Status.FAILED, "error"),
        (Status.DEAD_LETTERED, "error"),
    ],
)
def test_every_state_has_its_word_and_no_failure_is_ok(status: Status, told: str) -> None:
    assert notify_response(outcome_of(replace(SNAPSHOT, status=status), request_id="r"))["status"] == told


@pytest.mark.requirement("notify:failed-delivery-response", "notify:notify-response-envelope")
@pytest.mark.parametrize(
    ("status", "error_class", "retryable"),
    [
        (Status.FAILED, ErrorClass.VALIDATION, False),
        (Status.FAILED, ErrorClass.INTERNAL, False),
        (Status.FAILED, ErrorClass.UNAVAILABLE, True),
        (Status.DEAD_LETTERED, ErrorClass.UNAVAILABLE, False),  # it is kept for replay: asking again would make two
    ],
)
def test_a_failure_carries_its_class(status: Status, error_class: ErrorClass, retryable: bool) -> None:
    snapshot = replace(SNAPSHOT, status=status, failure=DeliveryFailure(error_class, "why"), provider_delivery_id=None)

    answer = notify_response(outcome_of(snapshot, request_id="r"))

    assert answer["error"] == {"class": error_class, "message": "why", "retryable": retryable}
    assert (answer["error_message"], answer["error_class"], answer["retryable"]) == ("why", error_class, retryable)


def test_a_possible_duplicate_and_a_reason_to_wait_are_said() -> None:
    snapshot = replace(SNAPSHOT, status=Status.PENDING, possible_duplicate=True, waiting_reason="throttled")

    delivery = notify_response(outcome_of(snapshot, request_id="r"))["delivery"]

    assert (delivery["possible_duplicate"], delivery["waiting_reason"]) == (True, "throttled")


@pytest.mark.parametrize(
    "error",
    [
        ValidationError.of([FieldError("delivery.recipient", "is unknown", "unknown_recipient")]),
        ValidationError("Missing required 'message' parameter"),
        OverloadRejected("too many", limit_type="recipient", retry_after_seconds=2.5),
        TargetUnavailable("nobody answers", retry_after_seconds=1.0),
        ProviderThrottled("429", retry_after_seconds=3.0),
        CircuitOpenError("open", retry_after_seconds=60.0),
        DeliveryTimeout("late"),
        InternalError("our bug"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_refusal_says_the_same_after_a_wire(error: PostroomError) -> None:
    told = notify_response(refused(error, request_id="r", channel="telegram"))

    assert notify_response(read_response(told)) == told


@pytest.mark.parametrize("status", Status)
def test_what_became_of_a_delivery_says_the_same_after_a_wire(status: Status) -> None:
    failure = (
        DeliveryFailure(ErrorClass.UNAVAILABLE, "503") if status in (Status.FAILED, Status.DEAD_LETTERED) else None
    )
    told = notify_response(outcome_of(replace(SNAPSHOT, status=status, failure=failure), request_id="r"))

    assert notify_response(read_response(told)) == told


@pytest.mark.parametrize("answer", [{}, {"status": "well"}, {"status": "error"}, {"status": None, "error": []}])
def test_an_answer_that_cannot_be_read_is_never_a_success(answer: dict[str, object]) -> None:
    outcome = read_response(answer)

    assert outcome.status == "error"
    assert outcome.error is not None
    assert not outcome.retryable
