"""What becomes of a delivery whose worker was lost."""

from __future__ import annotations

from postroom.domain.delivery import DeliveryEvent
from postroom.domain.errors import OutcomeUncertain
from postroom.domain.ledger import Claim, Settlement
from postroom.work.delivery.retry import RetryPolicy, after_failure
from postroom.work.delivery.settlement import failed, put_back


def conclude(claim: Claim, policy: RetryPolicy, *, now_us: int, dice: float, dead_letter_id: str) -> Settlement:
    """Before the mark nothing had left; after it nobody can know."""
    if not claim.sending:
        return put_back(claim, DeliveryEvent.RELEASE, now_us=now_us, reason="taken over from a lost worker")
    error = OutcomeUncertain("the worker was lost while sending")
    verdict = after_failure(
        policy,
        attempts=claim.attempts + 1,
        error=error,
        dice=dice,
        on_uncertain=claim.on_uncertain,
        priority=claim.priority,
    )
    return failed(claim, error, verdict, started_us=now_us, now_us=now_us, dead_letter_id=dead_letter_id)
