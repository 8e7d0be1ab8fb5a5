"""Rate limits as arithmetic."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.kinds import KINDS

from postroom.delivery.rules.limits import (
    IN_FLIGHT_HINT_US,
    MINUTE_US,
    THROTTLE_LONGEST_US,
    Admission,
    AdmissionDecision,
    LimitPolicy,
    LimitType,
    Tier,
    admission,
    believable,
    cost_millis,
    decision,
    headroom,
    in_flight_wait_us,
    refunded,
    refusal,
    spend,
    standing_tiers,
    strictest,
    throttle_us,
)
from postroom.household.delivery import delivery_policy
from postroom.kernel.values.errors import OverloadRejected, ProviderThrottled
from postroom.message.delivery import Intent
from postroom.settings import Settings

NOW = 1_800_000_000_000_000

rates = st.integers(1, 100_000)
costs = st.integers(1, 3000)


def tier(per_minute: int, kind: LimitType = LimitType.GLOBAL) -> Tier:
    return Tier(kind, "key", per_minute)


def admitted_at_once(bucket: Tier, cost_millis: int, arrival: int = 0) -> int:
    count = 0
    while True:
        after, wait = spend(bucket, arrival, NOW, cost_millis)
        if wait > 0:
            return count
        arrival, count = after, count + 1


@pytest.mark.parametrize(
    ("per_minute", "cost_millis", "expected"),
    [
        pytest.param(60, 1000, 60, id="global"),
        pytest.param(30, 1000, 30, id="telegram"),
        pytest.param(20, 500, 40, id="half price"),
        pytest.param(7, 1000, 7, id="a minute does not divide by seven"),
        pytest.param(7, 500, 14, id="half price of seven"),
        pytest.param(7000, 500, 14_000, id="half of an interval too short to halve"),
        pytest.param(10, 333, 30, id="a third, rounded"),
        pytest.param(1, 1000, 1, id="one"),
        pytest.param(1, 2000, 1, id="dearer than the whole bucket"),
    ],
)
def test_a_full_bucket_gives_its_limit_and_no_more(per_minute: int, cost_millis: int, expected: int) -> None:
    assert admitted_at_once(tier(per_minute), cost_millis) == expected


@given(per_minute=st.integers(1, 20_000), multiplier=st.integers(1, 4))
def test_replies_at_a_fraction_of_the_price_never_overshoot(per_minute: int, multiplier: int) -> None:
    bucket, cost = tier(per_minute), 1000 // multiplier
    assert bucket.capacity_us // bucket.cost_us(cost) <= per_minute * 1000 // cost


@given(per_minute=rates)
def test_two_half_price_replies_weigh_exactly_one_message(per_minute: int) -> None:
    assert 2 * tier(per_minute).cost_us(500) == tier(per_minute).cost_us(1000)


@given(per_minute=rates)
def test_tokens_never_come_back_faster_than_the_limit(per_minute: int) -> None:
    assert tier(per_minute).interval_us * per_minute >= MINUTE_US


@given(per_minute=rates, cost=costs, used=st.integers(0, 2 * MINUTE_US))
def test_after_the_wait_it_is_allowed_and_a_moment_earlier_it_is_not(per_minute: int, cost: int, used: int) -> None:
    bucket = tier(per_minute)
    _, wait = spend(bucket, NOW + used, NOW, cost)
    if wait > 0:
        assert spend(bucket, NOW + used, NOW + wait, cost)[1] <= 0
        assert spend(bucket, NOW + used, NOW + wait - 1, cost)[1] > 0


@given(per_minute=rates, cost=costs, used=st.integers(-MINUTE_US, MINUTE_US), later=st.integers(0, MINUTE_US))
def test_a_refund_never_gives_more_than_was_there(per_minute: int, cost: int, used: int, later: int) -> None:
    bucket = tier(per_minute)
    after, _ = spend(bucket, NOW + used, NOW, cost)
    back = refunded(bucket, after, cost)
    untouched = headroom(bucket, NOW + used, NOW + later)
    assert headroom(bucket, back, NOW + later) == untouched
    assert untouched.available <= untouched.capacity


@given(per_minute=rates, ahead=st.integers(0, 10**12))
def test_a_clock_that_was_ahead_costs_at_most_two_tokens_of_waiting(per_minute: int, ahead: int) -> None:
    bucket = tier(per_minute)
    arrival = believable(bucket, NOW + ahead, NOW)
    assert spend(bucket, arrival, NOW, 1000)[1] <= 2 * bucket.interval_us


@given(per_minute=rates, used=st.floats(0, 1))
def test_an_arrival_this_clock_can_have_produced_is_kept(per_minute: int, used: float) -> None:
    arrival = NOW + int(used * tier(per_minute).capacity_us)
    assert believable(tier(per_minute), arrival, NOW) == arrival


@pytest.mark.parametrize(
    ("used_tokens", "expected"),
    [(0, 10.0), (2.5, 7.5), (10, 0.0), (11, 0.0), (-5, 10.0)],
    ids=["full", "partly used", "empty", "beyond empty", "long idle"],
)
def test_headroom_counts_whole_and_partial_tokens(used_tokens: float, expected: float) -> None:
    bucket = tier(10)
    assert headroom(bucket, NOW + int(used_tokens * bucket.interval_us), NOW).available == expected


@pytest.mark.parametrize(
    ("in_flight", "most", "held", "expected"),
    [
        pytest.param(99, 100, False, 0, id="one place left"),
        pytest.param(100, 100, False, IN_FLIGHT_HINT_US, id="full"),
        pytest.param(100, 100, True, 0, id="full, but it holds a place already"),
        pytest.param(10_000, 0, False, 0, id="unlimited"),
    ],
)
def test_places_in_flight(in_flight: int, most: int, held: bool, expected: int) -> None:
    assert in_flight_wait_us(in_flight, most, held=held) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(30, 30_000_000, id="seconds"),
        pytest.param(0.25, 250_000, id="a fraction"),
        pytest.param(0, 0, id="nothing"),
        pytest.param(-5, 0, id="negative"),
        pytest.param(math.nan, 0, id="not a number"),
        pytest.param(math.inf, THROTTLE_LONGEST_US, id="for ever"),
        pytest.param(10**12, THROTTLE_LONGEST_US, id="thirty thousand years"),
    ],
)
def test_a_providers_wait_is_taken_within_reason(asked: float, expected: int) -> None:
    assert throttle_us(asked) == expected


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        pytest.param([], (None, 0.0), id="no limits"),
        pytest.param([(LimitType.GLOBAL, 0), (LimitType.CHANNEL, -5)], (None, 0.0), id="nobody refuses"),
        pytest.param(
            [(LimitType.GLOBAL, 0), (LimitType.CHANNEL, 2_000_000), (LimitType.RECIPIENT, 6_000_000)],
            (LimitType.CHANNEL, 6.0),
            id="the first names it, the longest is the hint",
        ),
        pytest.param([(LimitType.PROVIDER, 1), (LimitType.GLOBAL, 0)], (LimitType.PROVIDER, 1e-6), id="a microsecond"),
    ],
)
def test_the_strictest_limit(waits: list[tuple[LimitType, int]], expected: tuple[LimitType | None, float]) -> None:
    assert strictest(waits) == expected


def test_a_decision_names_every_tier_even_when_it_refuses() -> None:
    tiers = (tier(60), tier(30, LimitType.CHANNEL))
    refused = decision(
        Admission(lease_id="d1", channel="telegram", tiers=tiers), [0, 0, -1, 500_000], [NOW, NOW + MINUTE_US], 3, NOW
    )
    assert (refused.admitted, refused.limit_type, refused.retry_after_seconds) == (False, LimitType.CHANNEL, 0.5)
    assert [(left.type, left.available) for left in refused.headroom] == [
        (LimitType.GLOBAL, 60.0),
        (LimitType.CHANNEL, 0.0),
    ]
    assert refused.in_flight == 3


@pytest.mark.parametrize("per_minute", [0, -1])
def test_a_limit_below_one_per_minute_is_refused(per_minute: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        tier(per_minute)


def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Admission(lease_id="d1", channel="telegram", tiers=(), cost_millis=-1)


POLICY = delivery_policy(Settings(home=Path("unused")), KINDS).limits


@pytest.mark.requirement(
    "messenger:rate-limiting", "messenger:global-admission-control", "messenger:per-recipient-anti-flood"
)
def test_a_delivery_meets_the_widest_limit_first() -> None:
    asked = admission(POLICY, lease_id="d", channel="telegram", intent=Intent.SEND, address="Ann@Example.com")

    assert [(tier.type, tier.key, tier.per_minute) for tier in asked.tiers] == [
        (LimitType.GLOBAL, "global", 60),
        (LimitType.CHANNEL, "channel:telegram.bot", 30),
        (LimitType.RECIPIENT, "recipient:telegram:ann@example.com", 10),
    ]
    assert (asked.max_in_flight, asked.cost_millis, asked.lease_id) == (100, 1000, "d")


@pytest.mark.requirement("house:one-folding")
def test_a_letter_that_only_looks_like_ours_is_another_recipients() -> None:
    def recipient(address: str) -> str:
        asked = admission(POLICY, lease_id="d", channel="email", intent=Intent.SEND, address=address)
        return asked.tiers[-1].key

    assert recipient("KIM@x.org") == recipient("kim@X.org") != recipient("\u212aim@x.org")


@pytest.mark.requirement("messenger:channel-level-limits")
@pytest.mark.parametrize(
    ("scope", "per_minute"),
    [("telegram.bot", 30), ("telegram.user", 20), ("email.bot", 20), ("email.user", 10), ("matrix.bot", 30)],
)
def test_every_channel_has_its_default(scope: str, per_minute: int) -> None:
    assert POLICY.channel_per_minute(scope) == per_minute
    if scope.endswith(".bot"):
        assert standing_tiers(POLICY, scope.removesuffix(".bot"))[1].per_minute == per_minute


@pytest.mark.parametrize(
    ("multiplier", "intent", "cost"),
    [(2.0, Intent.REPLY, 500), (2.0, Intent.SEND, 1000), (2.0, Intent.REACT, 1000), (3.0, Intent.REPLY, 333)],
)
def test_a_reply_is_cheaper(multiplier: float, intent: Intent, cost: int) -> None:
    assert cost_millis(LimitPolicy(reply_multiplier=multiplier), intent) == cost


@pytest.mark.parametrize("kind", LimitType, ids=str)
def test_every_limit_has_its_own_words(kind: LimitType) -> None:
    error = refusal(AdmissionDecision(admitted=False, limit_type=kind, retry_after_seconds=3.0), "telegram")

    assert error is not None
    assert error.retry_after_seconds == 3.0
    if kind is LimitType.PROVIDER:
        assert isinstance(error, ProviderThrottled)
    else:
        assert isinstance(error, OverloadRejected)
        assert error.limit_type == kind
    assert error.message


def test_an_admission_is_no_refusal() -> None:
    assert refusal(AdmissionDecision(admitted=True), "telegram") is None
