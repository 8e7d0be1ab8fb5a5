"""Which limits a delivery meets, and what a refusal is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.delivery import Intent, Priority
from postroom.domain.errors import OverloadRejected, PostroomError, ProviderThrottled
from postroom.domain.limits import Admission, AdmissionDecision, LimitType, Share, Tier
from postroom.domain.outgoing import Outgoing
from postroom.domain.risk_and_urgency import Urgency

SCOPE: Final = "bot"  # the identity we send as; `user` scopes are configuration only
SCOPES: Final = (SCOPE, "user")
_REMEMBERED: Final = 10_000
_RESERVE: Final = 5  # one part in so many is kept for what is urgent
_QUESTIONS: Final = "questions"  # where their cards come from


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitPolicy:
    """One of a household; by itself, not by its values, it is remembered with what was worked out of it."""

    global_per_minute: int = 60
    in_flight: int = 100
    recipient_per_minute: int = 10
    reply_multiplier: float = 2.0
    other_channel_per_minute: int = 30
    channels: Mapping[str, int] = field(default_factory=dict)

    def channel_per_minute(self, scope: str) -> int:
        return self.channels.get(scope, self.other_channel_per_minute)


def admission(
    policy: LimitPolicy,
    *,
    lease_id: str,
    channel: str,
    intent: Intent,
    address: str | None,
    sender: str = "",
    urgent: bool = False,
) -> Admission:
    """Widest tier first: the one that refuses first gives the refusal its name. Without an address no one's is met."""
    if address is None:
        tiers, share = standing_tiers(policy, channel), None
    else:
        tiers, share = _tiers(policy, channel, address, sender, urgent)
    return Admission(
        lease_id=lease_id,
        channel=channel,
        tiers=tiers,
        cost_millis=cost_millis(policy, intent),
        max_in_flight=policy.in_flight,
        share=share,
    )


@cache
def standing_tiers(policy: LimitPolicy, channel: str) -> tuple[Tier, ...]:
    """The tiers that exist whoever the recipient is."""
    scope = f"{channel}.{SCOPE}"
    return (
        Tier(LimitType.GLOBAL, "global", policy.global_per_minute),
        Tier(LimitType.CHANNEL, f"channel:{scope}", policy.channel_per_minute(scope)),
    )


@lru_cache(maxsize=_REMEMBERED)  # people get more than one message
def _tiers(
    policy: LimitPolicy, channel: str, address: str, sender: str, urgent: bool
) -> tuple[tuple[Tier, ...], Share]:
    most = policy.recipient_per_minute
    recipient = Tier(LimitType.RECIPIENT, f"recipient:{channel}:{folded(address)}", most, reserve=most // _RESERVE)
    tiers = (*standing_tiers(policy, channel), recipient)
    return tiers, Share.of(tiers, sender, urgent=urgent)


def is_urgent(outgoing: Outgoing) -> bool:
    """Whether a part of the recipient's limit is kept for it: alarms and all that asks something."""
    if outgoing.priority is Priority.HIGH or outgoing.origin_butler == _QUESTIONS:
        return True
    return outgoing.wish is not None and outgoing.wish.urgency is Urgency.CRITICAL


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
