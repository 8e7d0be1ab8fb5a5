"""The numbers, and how they depend on each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from postroom.app.policy import delivery_policy
from postroom.domain.delivery import OnUncertain
from postroom.system.settings import Settings
from postroom.work.delivery.policy import DeliveryPolicy
from postroom.world.channels.kinds import KINDS

POLICY = delivery_policy(Settings(home=Path("unused")), KINDS)


@pytest.mark.requirement("messenger:per-channel-timeouts")
@pytest.mark.parametrize(
    ("channel", "seconds"), [("telegram", 15.0), (" Telegram ", 15.0), ("email", 45.0), ("matrix", 30.0)]
)
def test_every_channel_has_its_deadline(channel: str, seconds: float) -> None:
    assert POLICY.timeout_seconds(channel) == seconds


@pytest.mark.parametrize("lease", [1.0, 30.0, 600.0])
def test_a_lease_outlasts_the_call_it_covers(lease: float) -> None:
    policy = replace(POLICY, lease_seconds=lease)

    for channel in ("telegram", "email", "matrix"):
        assert policy.sending_lease_seconds(channel) >= policy.timeout_seconds(channel) + 10
        assert policy.sending_lease_seconds(channel) >= lease


def test_the_message_decides_before_the_channel_and_the_channel_before_the_household() -> None:
    policy = DeliveryPolicy(on_uncertain_by_channel={"email": OnUncertain.HOLD})

    assert policy.uncertain("telegram", None) is OnUncertain.RESEND
    assert policy.uncertain("email", None) is OnUncertain.HOLD
    assert policy.uncertain("email", OnUncertain.RESEND) is OnUncertain.RESEND


def test_files_have_the_time_they_take_on_a_slow_line_and_no_more_than_four_minutes() -> None:
    assert POLICY.timeout_seconds("telegram", 2_500_000) == 25.0
    assert POLICY.timeout_seconds("telegram", 10**12) == 255.0
    assert POLICY.sending_lease_seconds("telegram", 10**12) > 255.0
