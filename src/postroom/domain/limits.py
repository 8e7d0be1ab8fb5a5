"""Rate limits as arithmetic: tiers, one all-or-nothing decision, and what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.domain.patience import LONGEST_SECONDS
from postroom.domain.record import record
from postroom.domain.time import SECOND_US, seconds

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
