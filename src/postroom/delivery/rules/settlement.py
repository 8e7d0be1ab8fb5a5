"""The end of an attempt as what the ledger keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from postroom.delivery.model import Claim, Quarantine, SendAttempt, Settlement
from postroom.delivery.rules.retry import (
    DoubtStep,
    RetryPolicy,
    after_call,
    can_be_asked,
    can_be_settled,
    doubtful_since,
    leaves_doubt,
)
from postroom.kernel.values.errors import ErrorClass, OutcomeUncertain, PostroomError
from postroom.kernel.values.ids import DeadLetterId, seconds
from postroom.message.channel import UNDECLARED, Capabilities
from postroom.message.delivery import (
    AttemptResult,
    AttemptVerdict,
    DeliveryEvent,
    DeliveryFailure,
    ProviderAnswer,
    QuarantineReason,
    Receipt,
    Status,
    after,
)

ASKS_FIRST: Final = "ask whether it arrived"
_LONGEST_RESPONSE: Final = 240
_COSTS_NO_ATTEMPT = frozenset({DeliveryEvent.POSTPONE, DeliveryEvent.RELEASE})


def delivered(claim: Claim, receipt: Receipt, *, started_us: int, now_us: int) -> Settlement:
    return Settlement(
        claim=claim,
        status=after(Status.IN_PROGRESS, DeliveryEvent.DELIVER),
        at_us=now_us,
        not_before_us=claim.created_at_us,
        attempts=claim.attempts + 1,
        attempt=SendAttempt(started_at_us=started_us, completed_at_us=now_us, outcome=AttemptResult.SUCCESS),
        receipt=receipt.provider_id,
        conversation=receipt.conversation,
        possible_duplicate=claim.possible_duplicate,
    )


def found(claim: Claim, receipt: Receipt, answer: ProviderAnswer | None, *, started_us: int, now_us: int) -> Settlement:
    """The last part had arrived with an earlier call, so none was made now."""
    done = answered(delivered(claim, receipt, started_us=started_us, now_us=now_us), answer)
    return replace(done, attempts=claim.attempts)


def failed(
    claim: Claim,
    error: PostroomError,
    verdict: AttemptVerdict,
    *,
    started_us: int,
    now_us: int,
    dead_letter_id: str,
    began_us: int | None = None,
    can: Capabilities = UNDECLARED,
) -> Settlement:
    """
    A call was made (or may have been) and did not end well; `began_us` is when the last one was, where one was.

    Whether a copy is possible is said now only where nothing that follows can rule it out.
    """
    failure = DeliveryFailure(error.error_class, error.message, error.retry_after_seconds)
    status = after(Status.IN_PROGRESS, verdict.event)
    since = doubtful_since(claim, error, started_us if began_us is None else began_us)
    resends_uncertain = leaves_doubt(error) and verdict.event is DeliveryEvent.RETRY and not can_be_settled(claim, can)
    return Settlement(
        claim=claim,
        status=status,
        at_us=now_us,
        not_before_us=now_us + seconds(verdict.delay_seconds),
        attempts=claim.attempts + (0 if verdict.event in _COSTS_NO_ATTEMPT else 1),
        attempt=SendAttempt(
            started_at_us=started_us,
            completed_at_us=now_us,
            outcome=outcome_of(error),
            failure=failure,
            response=None if began_us is None else (error.provider_response or error.message)[:_LONGEST_RESPONSE],
        ),
        failure=failure,
        possible_duplicate=claim.possible_duplicate or (resends_uncertain and not claim.is_edit),
        doubtful_since_us=since,
        waiting_reason=_reason(claim, error, verdict, since, can) if status is Status.PENDING else None,
        quarantine=_quarantine(error, status, dead_letter_id),
    )


def outcome_of(error: PostroomError) -> AttemptResult:
    if isinstance(error, OutcomeUncertain):
        return AttemptResult.UNCERTAIN
    return AttemptResult.RETRYABLE_ERROR if error.retryable else AttemptResult.NON_RETRYABLE_ERROR


def _reason(
    claim: Claim, error: PostroomError, verdict: AttemptVerdict, since_us: int | None, can: Capabilities
) -> str:
    what = f"retry after {error.error_class}"
    if verdict.event is DeliveryEvent.POSTPONE:
        what = "throttled by the provider"
    elif since_us is not None and can_be_asked(claim, can):
        what = f"{ASKS_FIRST} after {error.error_class}"
    return f"{what}: {error.message}"


def _quarantine(error: PostroomError, status: Status, dead_letter_id: str) -> Quarantine | None:
    if status is not Status.DEAD_LETTERED:
        return None
    uncertain = isinstance(error, OutcomeUncertain)
    reason = QuarantineReason.OUTCOME_UNCERTAIN if uncertain else QuarantineReason.RETRIES_EXHAUSTED
    return Quarantine(id=DeadLetterId(dead_letter_id), reason=reason)


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
        doubtful_since_us=claim.doubtful_since_us,
        waiting_reason=reason,
    )


def asked_in_vain(
    claim: Claim, answer: ProviderAnswer | None, *, started_us: int, now_us: int, delay_seconds: float
) -> Settlement:
    """The provider could not say now and is asked again later; this costs an attempt, or it would have no end."""
    failure = _unknown(claim, answer)
    attempt = SendAttempt(
        started_at_us=started_us, completed_at_us=now_us, outcome=AttemptResult.RETRYABLE_ERROR, failure=failure
    )
    reason = f"{ASKS_FIRST}: {answer.words if answer else failure.message}"
    waits = put_back(claim, DeliveryEvent.RETRY, now_us=now_us, delay_seconds=delay_seconds, reason=reason)
    return answered(replace(waits, attempts=claim.attempts + 1, attempt=attempt, failure=failure), answer)


def given_up(
    claim: Claim,
    step: Literal[DoubtStep.HOLD, DoubtStep.GIVE_UP],
    answer: ProviderAnswer | None,
    *,
    started_us: int,
    now_us: int,
    dead_letter_id: str,
) -> Settlement:
    """No call was made: it may be there already and is held, or the provider has said that it is not."""
    held = step is DoubtStep.HOLD
    failure = _unknown(claim, answer) if held else _absent(claim)
    outcome = AttemptResult.UNCERTAIN if held else AttemptResult.RETRYABLE_ERROR
    done = Settlement(
        claim=claim,
        status=after(Status.IN_PROGRESS, DeliveryEvent.HOLD if held else DeliveryEvent.EXHAUST),
        at_us=now_us,
        not_before_us=now_us,
        attempts=claim.attempts,
        attempt=SendAttempt(started_at_us=started_us, completed_at_us=now_us, outcome=outcome, failure=failure),
        failure=failure,
        possible_duplicate=claim.possible_duplicate,
        doubtful_since_us=claim.doubtful_since_us if held else None,
        quarantine=Quarantine(
            id=DeadLetterId(dead_letter_id),
            reason=QuarantineReason.OUTCOME_UNCERTAIN if held else QuarantineReason.RETRIES_EXHAUSTED,
        ),
    )
    return answered(done, answer)


def _unknown(claim: Claim, answer: ProviderAnswer | None) -> DeliveryFailure:
    if answer is None:
        message = f"it may have arrived, and by now {claim.channel} would take it for another message"
    else:
        message = f"{claim.channel} could not say whether it had arrived: {answer.words}"
    return DeliveryFailure(ErrorClass.TIMEOUT, message)


def _absent(claim: Claim) -> DeliveryFailure:
    return DeliveryFailure(ErrorClass.UNAVAILABLE, f"{claim.channel} does not have it, and every attempt is used up")


def answered(done: Settlement, answer: ProviderAnswer | None) -> Settlement:
    """With what the provider said before; a delivery that only waits again will ask again."""
    return done if done.attempt is None else replace(done, attempt=replace(done.attempt, asked=answer))


def conclude(
    claim: Claim,
    policy: RetryPolicy,
    *,
    now_us: int,
    dice: float,
    dead_letter_id: str,
    can: Capabilities = UNDECLARED,
) -> Settlement:
    """Before the mark nothing had left; after it nobody can know, unless the next attempt finds it out."""
    if not claim.sending:
        return put_back(claim, DeliveryEvent.RELEASE, now_us=now_us, reason="taken over from a lost worker")
    error = OutcomeUncertain("the worker was lost while sending")
    verdict = after_call(claim, error, can, policy, dice)
    return failed(claim, error, verdict, started_us=now_us, now_us=now_us, dead_letter_id=dead_letter_id, can=can)
