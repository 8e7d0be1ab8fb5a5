"""Which limits a delivery meets, and what a refusal is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.delivery import Intent
from postroom.domain.errors import OverloadRejected, PostroomError, ProviderThrottled
from postroom.domain.limits import Admission, AdmissionDecision, LimitType, Tier

SCOPE: Final = "bot"  # the identity we send as; `user` scopes are configuration only
SCOPES: Final = (SCOPE, "user")
_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitPolicy:
    global_per_minute: int = 60
    in_flight: int = 100
    recipient_per_minute: int = 10
    reply_multiplier: float = 2.0
    other_channel_per_minute: int = 30
    channels: Mapping[str, int] = field(default_factory=dict)

    def channel_per_minute(self, scope: str) -> int:
        return self.channels.get(scope, self.other_channel_per_minute)


def admission(policy: LimitPolicy, *, lease_id: str, channel: str, intent: Intent, address: str | None) -> Admission:
    """Widest tier first: the one that refuses first gives the refusal its name. Without an address no one's is met."""
    standing, most = _standing_limits(policy, channel), policy.recipient_per_minute
    return Admission(
        lease_id=lease_id,
        channel=channel,
        tiers=_tiers(*standing, most, channel, address) if address is not None else _standing(*standing),
        cost_millis=cost_millis(policy, intent),
        max_in_flight=policy.in_flight,
    )


def standing_tiers(policy: LimitPolicy, channel: str) -> tuple[Tier, ...]:
    """The tiers that exist whoever the recipient is."""
    return _standing(*_standing_limits(policy, channel))


def _standing_limits(policy: LimitPolicy, channel: str) -> tuple[int, str, int]:
    scope = f"{channel}.{SCOPE}"
    return policy.global_per_minute, scope, policy.channel_per_minute(scope)


@cache
def _standing(global_per_minute: int, scope: str, per_minute: int) -> tuple[Tier, ...]:
    return (
        Tier(LimitType.GLOBAL, "global", global_per_minute),
        Tier(LimitType.CHANNEL, f"channel:{scope}", per_minute),
    )


@lru_cache(maxsize=_REMEMBERED)  # people get more than one message
def _tiers(
    global_per_minute: int, scope: str, per_minute: int, recipient_per_minute: int, channel: str, address: str
) -> tuple[Tier, ...]:
    recipient = Tier(LimitType.RECIPIENT, f"recipient:{channel}:{folded(address)}", recipient_per_minute)
    return (*_standing(global_per_minute, scope, per_minute), recipient)


def cost_millis(policy: LimitPolicy, intent: Intent) -> int:
    return round(1000 / policy.reply_multiplier) if intent is Intent.REPLY else 1000


def refusal(decision: AdmissionDecision, channel: str) -> PostroomError | None:
    if decision.admitted or decision.limit_type is None:
        return None
    wait = decision.retry_after_seconds
    match decision.limit_type:
        case LimitType.PROVIDER:
            return ProviderThrottled(f"{channel} asked us to wait", retry_after_seconds=wait)
        case LimitType.IN_FLIGHT:
            text = "too many deliveries are in flight"
        case LimitType.GLOBAL:
            text = "the household's rate limit is reached"
        case LimitType.CHANNEL:
            text = f"the rate limit of {channel} is reached"
        case LimitType.RECIPIENT:
            text = "this recipient's rate limit is reached"
    return OverloadRejected(text, limit_type=str(decision.limit_type), retry_after_seconds=wait)
