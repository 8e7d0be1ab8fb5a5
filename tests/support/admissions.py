"""What a delivery asks of the limits, as the tests of them ask it."""

from __future__ import annotations

from postroom.delivery.rules.limits import Admission, AdmissionDecision, LimitType, Tier

GLOBAL = Tier(LimitType.GLOBAL, "all", 60)
CHANNEL = Tier(LimitType.CHANNEL, "telegram.bot", 30)


def tiers_for(recipient: str = "alice") -> tuple[Tier, ...]:
    return (GLOBAL, CHANNEL, Tier(LimitType.RECIPIENT, recipient, 10))


def asking(
    lease_id: str = "d1",
    recipient: str = "alice",
    *,
    channel: str = "telegram",
    cost_millis: int = 1000,
    max_in_flight: int = 0,
) -> Admission:
    return Admission(
        lease_id=lease_id,
        channel=channel,
        tiers=tiers_for(recipient),
        cost_millis=cost_millis,
        max_in_flight=max_in_flight,
    )


def place(lease_id: str, max_in_flight: int = 2) -> Admission:
    return Admission(lease_id=lease_id, channel="telegram", tiers=(), max_in_flight=max_in_flight)


def available(decision: AdmissionDecision) -> list[float]:
    return [left.available for left in decision.headroom]
