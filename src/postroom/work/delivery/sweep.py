"""What becomes of a delivery whose worker was lost."""

from __future__ import annotations

from postroom.domain.capabilities import UNDECLARED, Capabilities
from postroom.domain.delivery import DeliveryEvent
from postroom.domain.errors import OutcomeUncertain
from postroom.domain.ledger import Claim, Settlement
from postroom.work.delivery.doubt import after_call
from postroom.work.delivery.retry import RetryPolicy
from postroom.work.delivery.settlement import failed, put_back


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
