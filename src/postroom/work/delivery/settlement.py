"""Turn the end of an attempt into what the ledger keeps."""

from __future__ import annotations

from postroom.domain.delivery import (
    AttemptResult,
    AttemptVerdict,
    DeliveryEvent,
    DeliveryFailure,
    QuarantineReason,
    Status,
    after,
)
from postroom.domain.errors import OutcomeUncertain, PostroomError, ProviderFailed
from postroom.domain.ids import DeadLetterId
from postroom.domain.ledger import Claim, Quarantine, SendAttempt, Settlement
from postroom.domain.time import seconds

_COSTS_NO_ATTEMPT = frozenset({DeliveryEvent.POSTPONE, DeliveryEvent.RELEASE})


def delivered(claim: Claim, receipt: str, *, started_us: int, now_us: int) -> Settlement:
    return Settlement(
        claim=claim,
        status=after(Status.IN_PROGRESS, DeliveryEvent.DELIVER),
        at_us=now_us,
        not_before_us=claim.created_at_us,
        attempts=claim.attempts + 1,
        attempt=SendAttempt(started_at_us=started_us, completed_at_us=now_us, outcome=AttemptResult.SUCCESS),
        receipt=receipt,
        possible_duplicate=claim.possible_duplicate,
    )


def failed(
    claim: Claim, error: PostroomError, verdict: AttemptVerdict, *, started_us: int, now_us: int, dead_letter_id: str
) -> Settlement:
    """A call was made (or may have been) and did not end well."""
    failure = DeliveryFailure(error.error_class, error.message, error.retry_after_seconds)
    status = after(Status.IN_PROGRESS, verdict.event)
    resends_uncertain = isinstance(error, OutcomeUncertain | ProviderFailed) and verdict.event is DeliveryEvent.RETRY
    return Settlement(
        claim=claim,
        status=status,
        at_us=now_us,
        not_before_us=now_us + seconds(verdict.delay_seconds),
        attempts=claim.attempts + (0 if verdict.event in _COSTS_NO_ATTEMPT else 1),
        attempt=SendAttempt(
            started_at_us=started_us, completed_at_us=now_us, outcome=outcome_of(error), failure=failure
        ),
        failure=failure,
        possible_duplicate=claim.possible_duplicate or (resends_uncertain and claim.revises is None),
        waiting_reason=_reason(error, verdict) if status is Status.PENDING else None,
        quarantine=_quarantine(error, status, dead_letter_id),
    )


def put_back(
    claim: Claim, event: DeliveryEvent, *, now_us: int, delay_seconds: float = 0.0, reason: str | None
) -> Settlement:
    """No call was made: the delivery waits again and has lost nothing."""
    return Settlement(
        claim=claim,
        status=after(Status.IN_PROGRESS, event),
        at_us=now_us,
        not_before_us=now_us + seconds(delay_seconds),
        attempts=claim.attempts,
        possible_duplicate=claim.possible_duplicate,
        waiting_reason=reason,
    )


def outcome_of(error: PostroomError) -> AttemptResult:
    if isinstance(error, OutcomeUncertain):
        return AttemptResult.UNCERTAIN
    return AttemptResult.RETRYABLE_ERROR if error.retryable else AttemptResult.NON_RETRYABLE_ERROR


def _reason(error: PostroomError, verdict: AttemptVerdict) -> str:
    what = (
        "throttled by the provider" if verdict.event is DeliveryEvent.POSTPONE else f"retry after {error.error_class}"
    )
    return f"{what}: {error.message}"


def _quarantine(error: PostroomError, status: Status, dead_letter_id: str) -> Quarantine | None:
    if status is not Status.DEAD_LETTERED:
        return None
    uncertain = isinstance(error, OutcomeUncertain)
    reason = QuarantineReason.OUTCOME_UNCERTAIN if uncertain else QuarantineReason.RETRIES_EXHAUSTED
    return Quarantine(id=DeadLetterId(dead_letter_id), reason=reason)
