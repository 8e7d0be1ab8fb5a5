"""What a stored delivery says to whoever waits for it."""

from __future__ import annotations

from postroom.domain.delivery import Status
from postroom.domain.errors import RETRYABLE, ErrorClass, PostroomError, error_of
from postroom.domain.ledger import Snapshot
from postroom.domain.outcome import AnswerStatus, Outcome, answer_to


def outcome_of(snapshot: Snapshot, *, request_id: str) -> Outcome:
    """A failed delivery is never wrapped in an `ok`."""
    status = answer_to(snapshot.status)
    failed = status is AnswerStatus.ERROR
    return Outcome(
        status=status,
        request_id=request_id,
        channel=snapshot.channel,
        delivery_id=snapshot.id,
        delivery_status=snapshot.status,
        provider_delivery_id=snapshot.provider_delivery_id,
        possible_duplicate=snapshot.possible_duplicate,
        waiting_reason=snapshot.waiting_reason,
        error=_failure(snapshot) if failed else None,
        retryable=failed and _is_retryable(snapshot),
    )


def _failure(snapshot: Snapshot) -> PostroomError:
    failure = snapshot.failure
    return error_of(failure.error_class, failure.message) if failure else error_of(ErrorClass.INTERNAL, "")


def _is_retryable(snapshot: Snapshot) -> bool:
    """A dead letter is kept for replay, so sending it anew would make a second one."""
    failure = snapshot.failure
    return failure is not None and failure.error_class in RETRYABLE and snapshot.status is Status.FAILED
