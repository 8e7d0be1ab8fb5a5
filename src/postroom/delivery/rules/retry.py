"""What follows a failed attempt, and one whose outcome nobody knows; from values alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Literal

from postroom.delivery.model import (
    DATED_AHEAD_US,
    REACHES_BACK_US,
    Claim,
    Quarantine,
    SendAttempt,
    Settlement,
    WaitKind,
    WaitReason,
)
from postroom.kernel.values.errors import (
    LONGEST_SECONDS,
    CredentialsRefused,
    ErrorClass,
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
)
from postroom.kernel.values.ids import DeadLetterId, record, seconds
from postroom.message.channel import UNDECLARED, Capabilities
from postroom.message.delivery import (
    AttemptResult,
    AttemptVerdict,
    DeliveryEvent,
    DeliveryFailure,
    OnUncertain,
    Presence,
    Priority,
    ProviderAnswer,
    QuarantineReason,
    Receipt,
    Status,
    after,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """`max_attempts` counts the first call."""

    max_attempts: int = 3
    base_seconds: float = 1.0
    max_seconds: float = 60.0
    jitter: float = 0.3
    attempts_by_priority: dict[Priority, int] = field(default_factory=dict)

    def attempts_for(self, priority: Priority) -> int:
        return self.attempts_by_priority.get(priority, self.max_attempts)


DEFAULT_THROTTLE_SECONDS = 1.0


def backoff_seconds(policy: RetryPolicy, retry: int, dice: float) -> float:
    """`retry` counts from 1; `dice` is uniform in [0, 1). Never above the cap."""
    raw = min(policy.base_seconds * 2.0 ** min(retry - 1, 60), policy.max_seconds)
    return min(raw * (1.0 + policy.jitter * (2.0 * dice - 1.0)), policy.max_seconds)


def after_failure(
    policy: RetryPolicy,
    *,
    attempts: int,
    error: PostroomError,
    dice: float,
    on_uncertain: OnUncertain,
    priority: Priority = Priority.MEDIUM,
    settles: bool = False,
    asks: bool = False,
) -> AttemptVerdict:
    """
    `attempts` includes the one that has just failed.

    `settles`: what is uncertain can become certain later. `asks`: by asking the provider, for which one more look is
    worth it even when no attempt is left.
    """
    asked = min(error.retry_after_seconds or 0.0, LONGEST_SECONDS)
    if isinstance(error, ProviderThrottled):
        return AttemptVerdict(DeliveryEvent.POSTPONE, asked or DEFAULT_THROTTLE_SECONDS)
    if isinstance(error, OutcomeUncertain) and on_uncertain is OnUncertain.HOLD and not settles:
        return AttemptVerdict(DeliveryEvent.HOLD)
    if not error.retryable:
        return AttemptVerdict(DeliveryEvent.REJECT)
    is_last = attempts >= policy.attempts_for(priority) or isinstance(error, CredentialsRefused)
    if is_last and not asks:
        return AttemptVerdict(DeliveryEvent.EXHAUST)
    return AttemptVerdict(DeliveryEvent.RETRY, max(backoff_seconds(policy, attempts, dice), asked))


# -- A call that left nobody knowing whether the message arrived ---


class DoubtStep(StrEnum):
    GO_ON = "go_on"  # the part is there: the next one
    SEND = "send"  # there will be one copy
    ASK_AGAIN = "ask_again"  # it could not say now, and there is time
    REPEAT = "repeat"  # there may be two, and the message says so
    HOLD = "hold"  # a second copy is not to be risked
    GIVE_UP = "give_up"  # it is not there, and no attempt is left


@record
class FindAnswer:
    """`answer` is missing when the provider could not be asked; the receipt is of what was there."""

    answer: ProviderAnswer | None = None
    receipt: Receipt = Receipt("")

    @property
    def presence(self) -> Presence:
        return self.answer.presence if self.answer else Presence.UNKNOWN


NOT_ASKED: Final = FindAnswer()


def said(receipt: Receipt | None) -> FindAnswer:
    if receipt is None:
        return FindAnswer(answer=ProviderAnswer(Presence.ABSENT))
    return FindAnswer(answer=ProviderAnswer(Presence.THERE), receipt=receipt)


def silent(words: str) -> FindAnswer:
    return FindAnswer(answer=ProviderAnswer(Presence.UNKNOWN, words))


def without_doubt(claim: Claim, presence: Presence) -> Claim:
    """What is not there was never sent; where nobody could say, the doubt remains."""
    return replace(claim, doubtful_since_us=None) if presence is Presence.ABSENT else claim


def not_ahead(claim: Claim, now_us: int) -> Claim:
    """Doubt dated ahead of us is older than it says, and by how much nobody knows."""
    since = claim.doubtful_since_us
    if since is None or since <= now_us + DATED_AHEAD_US:
        return claim
    return replace(claim, doubtful_since_us=now_us - REACHES_BACK_US)


def leaves_doubt(error: PostroomError) -> bool:
    return isinstance(error, OutcomeUncertain | ProviderFailed)


def can_be_asked(claim: Claim, can: Capabilities) -> bool:
    """The same edit twice is one edit, so there is nothing to ask about one."""
    return can.reconciles and not claim.is_edit


def can_be_settled(claim: Claim, can: Capabilities) -> bool:
    """Whether the provider helps: it can be asked, or it drops a second call with the same key."""
    return can_be_asked(claim, can) or (can.dedupes_for_seconds > 0 and not claim.is_edit)


def after_call(
    claim: Claim, error: PostroomError, can: Capabilities, retry: RetryPolicy, dice: float
) -> AttemptVerdict:
    """What follows a call that did not end well: doubt that can be settled neither holds nor ends the delivery."""
    doubtful = claim.doubtful_since_us is not None or leaves_doubt(error)
    return after_failure(
        retry,
        attempts=claim.attempts + 1,
        error=error,
        dice=dice,
        on_uncertain=claim.on_uncertain,
        priority=claim.priority,
        settles=can_be_settled(claim, can),
        asks=doubtful and can_be_asked(claim, can),
    )


def in_doubt(claim: Claim, can: Capabilities, presence: Presence, retry: RetryPolicy, now_us: int) -> DoubtStep:
    """
    What to do with the part in doubt, now that the provider has said what it knows.

    Where it could not say, it is asked again for as long as that leaves one attempt for a call.
    """
    used_up = claim.attempts >= retry.attempts_for(claim.priority) and can_be_asked(claim, can)
    if presence is Presence.THERE:
        return DoubtStep.GO_ON
    if presence is Presence.ABSENT:
        return DoubtStep.GIVE_UP if used_up else DoubtStep.SEND
    if used_up:
        return DoubtStep.HOLD
    if claim.is_edit or _is_dropped(claim, can, now_us):
        return DoubtStep.SEND
    if can_be_asked(claim, can) and claim.attempts + 1 < retry.attempts_for(claim.priority):
        return DoubtStep.ASK_AGAIN
    held = claim.on_uncertain is OnUncertain.HOLD and not claim.possible_duplicate  # else a person accepted a copy
    return DoubtStep.HOLD if held else DoubtStep.REPEAT


def _is_dropped(claim: Claim, can: Capabilities, now_us: int) -> bool:
    """Whether the provider still takes a second call with the same key for the first one."""
    since = claim.doubtful_since_us
    return since is not None and 0 <= now_us - since < seconds(can.dedupes_for_seconds)


# The end of an attempt as what the ledger keeps.


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
        receipt=receipt,
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
    since = claim.doubtful_since_us  # the first doubtful call counts: a later failure says nothing about it
    if since is None and leaves_doubt(error):
        since = started_us if began_us is None else began_us
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
        waiting=_waiting(claim, error, verdict, since, can) if status is Status.PENDING else None,
        quarantine=_quarantine(error, status, dead_letter_id),
    )


def outcome_of(error: PostroomError) -> AttemptResult:
    if isinstance(error, OutcomeUncertain):
        return AttemptResult.UNCERTAIN
    return AttemptResult.RETRYABLE_ERROR if error.retryable else AttemptResult.NON_RETRYABLE_ERROR


def throttled_by(error: PostroomError) -> WaitReason:
    return WaitReason(kind=WaitKind.THROTTLE, detail=error.message, asked_seconds=error.asked_seconds)


def _waiting(
    claim: Claim, error: PostroomError, verdict: AttemptVerdict, since_us: int | None, can: Capabilities
) -> WaitReason:
    if verdict.event is DeliveryEvent.POSTPONE:
        return throttled_by(error)
    in_doubt = since_us is not None and can_be_asked(claim, can)
    kind = WaitKind.DOUBT if in_doubt else WaitKind.RETRY
    return WaitReason(kind=kind, detail=f"{error.error_class}: {error.message}")


def _quarantine(error: PostroomError, status: Status, dead_letter_id: str) -> Quarantine | None:
    if status is not Status.DEAD_LETTERED:
        return None
    uncertain = isinstance(error, OutcomeUncertain)
    reason = QuarantineReason.OUTCOME_UNCERTAIN if uncertain else QuarantineReason.RETRIES_EXHAUSTED
    return Quarantine(id=DeadLetterId(dead_letter_id), reason=reason)


def put_back(
    claim: Claim, event: DeliveryEvent, *, now_us: int, delay_seconds: float = 0.0, waiting: WaitReason | None = None
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
        waiting=waiting,
    )


def asked_in_vain(
    claim: Claim, answer: ProviderAnswer | None, *, started_us: int, now_us: int, delay_seconds: float
) -> Settlement:
    """The provider could not say now and is asked again later; this costs an attempt, or it would have no end."""
    failure = _unknown(claim, answer)
    attempt = SendAttempt(
        started_at_us=started_us, completed_at_us=now_us, outcome=AttemptResult.RETRYABLE_ERROR, failure=failure
    )
    waiting = WaitReason(kind=WaitKind.SILENCE, detail=(answer and answer.words) or failure.message)
    waits = put_back(claim, DeliveryEvent.RETRY, now_us=now_us, delay_seconds=delay_seconds, waiting=waiting)
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
    absent = f"{claim.channel} does not have it, and every attempt is used up"
    failure = _unknown(claim, answer) if held else DeliveryFailure(ErrorClass.UNAVAILABLE, absent)
    outcome = AttemptResult.UNCERTAIN if held else AttemptResult.RETRYABLE_ERROR
    event = DeliveryEvent.HOLD if held else DeliveryEvent.EXHAUST
    done = replace(
        put_back(claim, event, now_us=now_us),
        attempt=SendAttempt(started_at_us=started_us, completed_at_us=now_us, outcome=outcome, failure=failure),
        failure=failure,
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
        waiting = WaitReason(kind=WaitKind.OURSELVES, detail="taken over from a lost worker")
        return put_back(claim, DeliveryEvent.RELEASE, now_us=now_us, waiting=waiting)
    error = OutcomeUncertain("the worker was lost while sending")
    verdict = after_call(claim, error, can, policy, dice)
    return failed(claim, error, verdict, started_us=now_us, now_us=now_us, dead_letter_id=dead_letter_id, can=can)
