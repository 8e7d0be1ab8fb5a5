"""When approvals are on, and what the settings make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.app.approval_policy import approval_policy
from postroom.app.approvals import build_gate, deciders_of
from postroom.app.channels import build_channels
from postroom.app.people import household_people
from postroom.app.people_seeds import keep_in_step
from postroom.app.question_people import HouseholdAsked
from postroom.app.sandbox_channel import SandboxAddress
from postroom.app.store import open_store
from postroom.domain.ids import IdMint
from postroom.domain.person_draft import DraftAddress, PersonDraft
from postroom.domain.risk_and_urgency import Risk
from postroom.system.settings.load import load
from postroom.work.people.household_people import HouseholdPeople
from tests.clock import FakeClock

REAL = {"BUTLER_TELEGRAM_TOKEN": "1:token", "POSTROOM_OWNER__TELEGRAM_CHAT_ID": "1000"}


@pytest.mark.parametrize(
    ("environment", "is_on", "asked_on"),
    [
        pytest.param({}, False, ("telegram",), id="off in the sandbox"),
        pytest.param({"POSTROOM_APPROVALS__ENABLED": "true"}, True, ("telegram",), id="on when asked for"),
        pytest.param(REAL, True, ("telegram",), id="on with real credentials, and the owner is asked"),
        pytest.param({**REAL, "POSTROOM_APPROVALS__ENABLED": "false"}, False, ("telegram",), id="off when asked for"),
        pytest.param({**REAL, "POSTROOM_APPROVALS__ASK_OWNER": "false"}, True, None, id="in silence"),
        pytest.param(
            {**REAL, "POSTROOM_APPROVALS__ASK_CHANNEL": "email"}, True, ("console",), id="no address on that channel"
        ),
    ],
)
@pytest.mark.requirement("messenger:gated-tools")
async def test_the_gate_stands_as_soon_as_messages_reach_real_people(
    tmp_path: Path, environment: dict[str, str], is_on: bool, asked_on: tuple[str, ...] | None
) -> None:
    settings, _ = load({"POSTROOM_HOME": str(tmp_path), **environment})
    channels = build_channels(settings, SandboxAddress("127.0.0.1", 1, 1) if settings.in_sandbox else None)

    async with open_store(settings) as store:
        clock = FakeClock()
        await keep_in_step(settings, store.people, clock.now_us())
        gate = build_gate(settings, store.database, HouseholdPeople(store.people, clock), channels, IdMint())
        deciders = deciders_of(settings, store, HouseholdAsked(book=store.people), channels)
        found = await deciders(owner_only=False) if deciders else None

    assert (gate is not None) is is_on
    assert (found.channels if found else None) == asked_on
    for channel in channels.values():
        await channel.close()


@pytest.mark.requirement("ask:approval-who")
async def test_the_owner_and_trusted_approvers_are_asked_each_where_they_are(tmp_path: Path) -> None:
    settings, _ = load({"POSTROOM_HOME": str(tmp_path)})
    async with open_store(settings) as store:
        await keep_in_step(settings, store.people, FakeClock().now_us())
        people = household_people(settings, store, FakeClock())
        for name, trusted, role in (("Ben", True, "approver"), ("Eve", False, "approver"), ("Joe", True, "member")):
            address = DraftAddress(channel="email", address=f"{name.lower()}@example.org")
            draft = PersonDraft(name=name, role=role, trusted=trusted, addresses=(address,))
            await people.create(draft, source="test")
        await store.household.known()
        deciders = deciders_of(settings, store, HouseholdAsked(book=store.people), ["telegram", "email"])
        assert deciders is not None

        everyone, alone = await deciders(owner_only=False), await deciders(owner_only=True)

    assert [one.name for one in everyone.people][1:] == ["Ben"]
    assert everyone.channels == ("telegram", "email")
    assert [one.id for one in alone.people] == ["owner"]


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
            "POSTROOM_APPROVALS__PHONE": "none",
        }
    )

    policy = approval_policy(settings)

    assert (policy.expiry_us, policy.replies_pass) == (7_200_000_000, False)
    assert (policy.risk.of_channel("telegram"), policy.risk.of_channel("email")) == (Risk.LOW, Risk.CRITICAL)
    assert (policy.most_pending_per_origin, policy.sweep_seconds, policy.phone) == (3, 5.0, None)
