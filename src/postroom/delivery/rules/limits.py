"""Rate limits as arithmetic: tiers, one all-or-nothing decision, and what is left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from postroom.kernel.values.errors import LONGEST_SECONDS, OverloadRejected, PostroomError, ProviderThrottled
from postroom.kernel.values.ids import SECOND_US, record, seconds
from postroom.message.delivery import Intent, Priority, folded
from postroom.message.outgoing import Outgoing
from postroom.message.wishes import Urgency

MINUTE_US: Final = 60 * SECOND_US
IN_FLIGHT_HINT_US: Final = SECOND_US
LEASE_US: Final = 10 * MINUTE_US
_TOKEN_MILLIS: Final = 1000
THROTTLE_LONGEST_US: Final = seconds(LONGEST_SECONDS)


class LimitType(StrEnum):
    PROVIDER = "provider"
    IN_FLIGHT = "global_in_flight"
    GLOBAL = "global"
    CHANNEL = "channel"
    RECIPIENT = "recipient"


@dataclass(frozen=True, slots=True)
class Tier:
    """One bucket: `per_minute` tokens refilled continuously, as many at once, and `reserve` more drawn in advance."""

    type: LimitType
    key: str
    per_minute: int
    reserve: int = 0
    interval_us: int = field(init=False)
    capacity_us: int = field(init=False)
    latest_us: int = field(init=False)  # how far ahead of now its arrival time can be
    bucket: str = field(init=False)

    def __post_init__(self) -> None:
        """A token's interval is rounded up, so never faster; and even, so half a token is exact."""
        if self.per_minute < 1:
            raise ValueError("a limit must allow at least one per minute")
        interval = -(-MINUTE_US // (2 * self.per_minute)) * 2
        object.__setattr__(self, "interval_us", interval)
        object.__setattr__(self, "capacity_us", interval * self.per_minute)
        object.__setattr__(self, "latest_us", interval * (self.per_minute + max(1, self.reserve)))
        object.__setattr__(self, "bucket", f"{self.type}:{self.key}")

    def cost_us(self, cost_millis: int) -> int:
        """What a cost weighs here; at most the whole bucket, because more could never be admitted."""
        return min(-(-cost_millis * self.interval_us // _TOKEN_MILLIS), self.capacity_us)


@dataclass(frozen=True, slots=True)
class Share:
    """
    One sender's part of a recipient's limit: half of it, counted always and binding only while another waits.

    A sender within its share, with something urgent, may draw on the recipient's reserve: however many others have used
    the limit up, an alarm or a question still passes, and what was drawn is missing from what comes later.
    """

    sender: str
    recipient: str
    reserve_us: int
    counted: tuple[Tier, ...]  # all that a message is counted in, this the last
    buckets: tuple[str, ...]

    @classmethod
    def of(cls, tiers: Sequence[Tier], sender: str, *, urgent: bool) -> Share:
        recipient = tiers[-1]
        half = Tier(
            LimitType.RECIPIENT, f"share:{len(sender)}:{sender}:{recipient.key}", max(1, recipient.per_minute // 2)
        )
        reserve_us = recipient.interval_us * recipient.reserve if urgent else 0
        return cls(sender, recipient.key, reserve_us, (*tiers, half), tuple(one.bucket for one in (*tiers, half)))

    def wait_us(self, recipient_us: int, share_us: int, *, contended: bool) -> int:
        """What the recipient's limit says to this sender, of its own wait and that of the share."""
        if share_us <= 0:
            return recipient_us - self.reserve_us
        return max(recipient_us, share_us) if contended else recipient_us


@record
class Admission:
    """
    What one delivery asks of the limits. Without a `lease_id` it takes no place in flight.

    `share` is its sender's of the last tier, which is then the recipient's.
    """

    lease_id: str
    channel: str
    tiers: tuple[Tier, ...]
    cost_millis: int = 1000
    max_in_flight: int = 0
    share: Share | None = None

    def __post_init__(self) -> None:
        if self.cost_millis < 0:
            raise ValueError("a cost cannot be negative")


@dataclass(frozen=True, slots=True)
class Headroom:
    """How much is left in one bucket, in whole and partial tokens."""

    type: LimitType
    key: str
    capacity: int
    available: float


@record
class AdmissionDecision:
    """`headroom` and `in_flight` are as the decision left them."""

    admitted: bool
    limit_type: LimitType | None = None
    retry_after_seconds: float = 0.0
    in_flight: int = 0
    tiers: tuple[Tier, ...] = ()
    arrivals_us: tuple[int, ...] = ()
    now_us: int = 0

    @property
    def headroom(self) -> tuple[Headroom, ...]:
        """Worked out when somebody looks: most decisions are only obeyed."""
        pairs = zip(self.tiers, self.arrivals_us, strict=False)  # a share comes after them
        return tuple(headroom(tier, arrival, self.now_us) for tier, arrival in pairs)


def believable(tier: Tier, arrival_us: int, now_us: int) -> int:
    """
    An arrival time this clock can have produced.

    One further ahead was written before the clock was set back; keeping it
    would refuse everybody until the clock has caught up with its old mistake.
    """
    return min(arrival_us, now_us + tier.latest_us)


def spend(tier: Tier, arrival_us: int, now_us: int, cost_millis: int) -> tuple[int, int]:
    """
    GCRA: the bucket is one number, the theoretical arrival time.

    Returns the arrival time after spending, and how long the caller would have
    to wait before that would be allowed (0 or less: allowed now).
    """
    cost = tier.interval_us if cost_millis == _TOKEN_MILLIS else tier.cost_us(cost_millis)
    after = (arrival_us if arrival_us > now_us else now_us) + cost
    return after, after - now_us - tier.capacity_us


def refunded(tier: Tier, arrival_us: int, cost_millis: int) -> int:
    """An arrival time in the past is a full bucket, so nothing can be given back beyond capacity."""
    return arrival_us - tier.cost_us(cost_millis)


def headroom(tier: Tier, arrival_us: int, now_us: int) -> Headroom:
    used = max(arrival_us, now_us) - now_us
    available = max(0, tier.capacity_us - used) / tier.interval_us
    return Headroom(tier.type, tier.key, tier.per_minute, round(available, 3))


def in_flight_wait_us(in_flight: int, most: int, *, held: bool) -> int:
    """Nobody can know when a place becomes free; a delivery that already holds one needs no other."""
    return IN_FLIGHT_HINT_US if most and in_flight >= most and not held else 0


def throttle_us(asked_seconds: float) -> int:
    """A provider's wait, within reason: no single answer silences a channel for more than an hour."""
    if math.isnan(asked_seconds) or asked_seconds <= 0:
        return 0
    return seconds(min(asked_seconds, THROTTLE_LONGEST_US / SECOND_US))


def strictest(waits: Sequence[tuple[LimitType, int]]) -> tuple[LimitType | None, float]:
    """The first limit that refuses names the refusal; the longest wait is the hint."""
    refusing = [(kind, wait) for kind, wait in waits if wait > 0]
    if not refusing:
        return None, 0.0
    return refusing[0][0], max(wait for _, wait in refusing) / SECOND_US


def admitted(admission: Admission, arrivals_us: Sequence[int], in_flight: int, now_us: int) -> AdmissionDecision:
    return AdmissionDecision(
        admitted=True, in_flight=in_flight, tiers=admission.tiers, arrivals_us=tuple(arrivals_us), now_us=now_us
    )


def decision(
    admission: Admission, waits_us: Sequence[int], arrivals_us: Sequence[int], in_flight: int, now_us: int
) -> AdmissionDecision:
    """The answer in words; `waits_us` are those of the provider, the places in flight and each tier."""
    if max(waits_us) <= 0:
        return admitted(admission, arrivals_us, in_flight, now_us)
    kinds = (LimitType.PROVIDER, LimitType.IN_FLIGHT, *(tier.type for tier in admission.tiers))
    limit_type, retry_after = strictest(tuple(zip(kinds, waits_us, strict=True)))
    return AdmissionDecision(
        admitted=False,
        limit_type=limit_type,
        retry_after_seconds=retry_after,
        in_flight=in_flight,
        tiers=admission.tiers,
        arrivals_us=tuple(arrivals_us),
        now_us=now_us,
    )


# -- Which limits a delivery meets, and what a refusal is called ---


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
