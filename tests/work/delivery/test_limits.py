"""Which limits a delivery meets, and what a refusal is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.app.policy import delivery_policy
from postroom.domain.delivery import Intent
from postroom.domain.errors import OverloadRejected, ProviderThrottled
from postroom.domain.limits import AdmissionDecision, LimitType, Tier
from postroom.system.settings import Settings
from postroom.work.delivery.limits import LimitPolicy, admission, cost_millis, refusal, standing_tiers
from postroom.world.channels.kinds import KINDS

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


def test_a_message_to_the_same_person_in_other_letters_meets_the_same_limits() -> None:
    def tiers(address: str, policy: LimitPolicy = POLICY) -> tuple[Tier, ...]:
        return admission(policy, lease_id="1", channel="email", intent=Intent.SEND, address=address).tiers

    assert tiers("Ann@Example.org") == tiers("ann@example.org")
    assert tiers("ann@example.org") != tiers("bob@example.org")
    other = LimitPolicy(recipient_per_minute=3)
    assert [one.per_minute for one in tiers("ann@example.org", other)][-1] == 3
