"""Decide what follows a failed attempt, from values alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroom.domain.delivery import AttemptVerdict, DeliveryEvent, OnUncertain, Priority
from postroom.domain.errors import CredentialsRefused, OutcomeUncertain, PostroomError, ProviderThrottled
from postroom.domain.patience import LONGEST_SECONDS

DEFAULT_THROTTLE_SECONDS = 1.0


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
