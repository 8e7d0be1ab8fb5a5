"""When approvals are on, and what the settings make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.app.address_book import stored_people
from postroom.app.approvals import approval_policy, ask_channel, build_gate
from postroom.app.channels import SandboxAddress, build_channels
from postroom.app.people_seeds import keep_in_step
from postroom.domain.approval import Risk
from postroom.domain.ids import IdMint
from postroom.system.settings.load import load
from postroom.work.people.household_people import HouseholdPeople
from tests.clock import FakeClock
from tests.opened_database import opened_file

REAL = {"BUTLER_TELEGRAM_TOKEN": "1:token", "POSTROOM_OWNER__TELEGRAM_CHAT_ID": "1000"}


@pytest.mark.parametrize(
    ("environment", "is_on", "asked_on"),
    [
        pytest.param({}, False, None, id="off in the sandbox"),
        pytest.param({"POSTROOM_APPROVALS__ENABLED": "true"}, True, None, id="on when asked for"),
        pytest.param(REAL, True, "telegram", id="on with real credentials, and the owner is told"),
        pytest.param({**REAL, "POSTROOM_APPROVALS__ENABLED": "false"}, False, "telegram", id="off when asked for"),
        pytest.param({**REAL, "POSTROOM_APPROVALS__ASK_OWNER": "false"}, True, None, id="in silence"),
        pytest.param({**REAL, "POSTROOM_APPROVALS__ASK_CHANNEL": "email"}, True, None, id="no address on that channel"),
        pytest.param(
            {"POSTROOM_APPROVALS__ENABLED": "true", "POSTROOM_APPROVALS__ASK_OWNER": "true"},
            True,
            "telegram",
            id="the sandbox's owner",
        ),
    ],
)
@pytest.mark.requirement("messenger:gated-tools")
async def test_the_gate_stands_as_soon_as_messages_reach_real_people(
    tmp_path: Path, environment: dict[str, str], is_on: bool, asked_on: str | None
) -> None:
    settings, _ = load({"POSTROOM_HOME": str(tmp_path), **environment})
    channels = build_channels(settings, SandboxAddress("127.0.0.1", 1, 1) if settings.in_sandbox else None)

    async with opened_file(tmp_path) as database:
        stored, clock = stored_people(database, IdMint()), FakeClock()
        await keep_in_step(settings, stored, clock.now_us())
        people = HouseholdPeople(stored, clock)
        gate, ask = build_gate(settings, database, people, channels, IdMint()), ask_channel(settings, channels, people)
        found = await ask() if ask else None

    assert (gate is not None) is is_on
    assert found == asked_on
    for channel in channels.values():
        await channel.close()


def test_every_number_comes_from_the_settings(tmp_path: Path) -> None:
    settings, _ = load(
        {
            "POSTROOM_HOME": str(tmp_path),
            "POSTROOM_APPROVALS__EXPIRY_HOURS": "2",
            "POSTROOM_APPROVALS__REPLIES": "ask",
            "POSTROOM_APPROVALS__RISK": "low",
            "POSTROOM_APPROVALS__RISK_BY_CHANNEL": '{"email": "critical"}',
            "POSTROOM_APPROVALS__MAX_PENDING_PER_ORIGIN": "3",
            "POSTROOM_APPROVALS__SWEEP_SECONDS": "5",
        }
    )

    policy = approval_policy(settings)

    assert (policy.expiry_us, policy.replies_pass) == (7_200_000_000, False)
    assert (policy.risk.of_channel("telegram"), policy.risk.of_channel("email")) == (Risk.LOW, Risk.CRITICAL)
    assert (policy.most_pending_per_origin, policy.sweep_seconds) == (3, 5.0)
