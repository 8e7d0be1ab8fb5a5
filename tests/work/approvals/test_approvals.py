"""What people can do, and nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.opened_database import opened_file
from tests.work.approvals.parked import HOUR_US, MINT, new_delivery
from tests.work.approvals.test_gate import CHANNELS

from postroom.domain.approval import ActionStatus, Parking
from postroom.domain.delivery import Status
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.risk_and_urgency import Risk
from postroom.work.approvals.approvals import Approvals
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.risk import RiskPolicy
from postroom.work.approvals.rule_request import RuleRequest, parse_rule_request
from postroom.work.approvals.ruling import expiration
from postroom.world.channels.kinds import KINDS
from postroom.world.store.approvals.approvals import StoredApprovals

ANN = Principal(Role.USER, "ann")
MACHINES = [
    Principal(Role.BUTLER, "general"),
    Principal(Role.BUTLER, "messenger"),
    Principal(Role.BUTLER, "operator"),
    Principal(Role.CONNECTOR, "chatgpt"),
]


@dataclass
class World:
    approvals: Approvals
    record: StoredApprovals
    clock: FakeClock
    released: list[int] = field(default_factory=list)

    async def park(self, risk: Risk = Risk.MEDIUM, **changes: Any) -> DeliveryId:
        new = new_delivery(**changes)
        parking = Parking(risk=risk, expires_at_us=self.clock.now_us() + 48 * HOUR_US, most_pending=100)
        await self.record.park(new, parking, lambda _: [])
        return new.id


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with opened_file(tmp_path) as database:
        record, released = StoredApprovals(database, MINT.mint, expiration), list[int]()
        approvals = Approvals(
            record=record,
            policy=ApprovalPolicy(risk=RiskPolicy(by_channel={"email": Risk.HIGH})),
            channels=CHANNELS,
            known_channels=KINDS,
            clock=clock,
            mint=MINT.mint,
            released=lambda: released.append(1),
        )
        yield World(approvals, record, clock, released)


def code(caught: pytest.ExceptionInfo[ValidationError]) -> str:
    return caught.value.fields[0].code


@pytest.mark.parametrize("who", [ANN, OPERATOR], ids=str)
async def test_a_person_approves_and_the_sender_is_woken(world: World, who: Principal) -> None:
    action_id = await world.park()

    action, rule = await world.approvals.approve(who, action_id)

    assert (action.status, action.decided_by) == (ActionStatus.APPROVED, str(who))
    assert (action.delivery_status, rule, world.released) == (Status.PENDING, None, [1])


@pytest.mark.parametrize("who", MACHINES, ids=str)
async def test_no_machine_decides_anything(world: World, who: Principal) -> None:
    action_id = await world.park()
    rule = await world.approvals.create_rule(
        ANN, parse_rule_request({"constraints": {"recipient": "1"}, "max_uses": 1})
    )

    for attempt in (
        world.approvals.approve(who, action_id),
        world.approvals.reject(who, action_id, "no"),
        world.approvals.create_rule(who, RuleRequest()),
        world.approvals.revoke_rule(who, rule.id),
    ):
        with pytest.raises(ValidationError) as caught:
            await attempt
        assert code(caught) == "human_actor_required"

    action, _ = await world.approvals.show(action_id)
    assert (action.status, world.released) == (ActionStatus.PENDING, [])
    assert len(await world.approvals.rules()) == 1


async def test_the_hash_that_was_seen_must_be_the_hash_that_is_sent(world: World) -> None:
    action_id = await world.park()

    with pytest.raises(ValidationError) as caught:
        await world.approvals.approve(ANN, action_id, seen_hash="0" * 64)
    assert (code(caught), world.released) == ("hash_mismatch", [])

    action, _ = await world.approvals.show(action_id)
    done, _ = await world.approvals.approve(ANN, action_id, seen_hash=action.content_hash)
    assert done.status is ActionStatus.APPROVED


async def test_an_edit_is_checked_applied_and_hashed_anew(world: World) -> None:
    action_id = await world.park()
    before, _ = await world.approvals.show(action_id)

    with pytest.raises(ValidationError):
        await world.approvals.approve(ANN, action_id, edits={"message": ""})
    done, _ = await world.approvals.approve(
        ANN, action_id, seen_hash=before.content_hash, edits={"message": "At nine", "recipient": "777"}
    )

    assert (done.content.message, done.content.address, done.edited) == ("At nine", "777", True)
    assert done.content_hash == done.content.hash != before.content_hash


async def test_too_late_says_so_before_it_complains_about_an_edit(world: World) -> None:
    action_id = await world.park()
    await world.clock.advance(48 * 3600)

    with pytest.raises(ValidationError, match="too late") as caught:
        await world.approvals.approve(ANN, action_id, edits={"message": ""})

    assert code(caught) == "too_late"
    assert (await world.approvals.show(action_id))[0].status is ActionStatus.EXPIRED


async def test_looking_ends_what_is_overdue(world: World) -> None:
    action_id = await world.park()
    await world.clock.advance(49 * 3600)

    assert await world.approvals.page(ActionStatus.PENDING) == []
    assert [one.id for one in await world.approvals.page(ActionStatus.EXPIRED)] == [action_id]


async def test_a_rejection_is_final(world: World) -> None:
    action_id = await world.park()
    await world.approvals.reject(ANN, action_id, "not today")

    with pytest.raises(ValidationError) as caught:
        await world.approvals.approve(ANN, action_id)

    assert (code(caught), world.released) == ("already_decided", [])


async def test_what_does_not_exist_is_unknown(world: World) -> None:
    for attempt in (
        world.approvals.show("nothing"),
        world.approvals.approve(ANN, "nothing"),
        world.approvals.reject(ANN, "nothing", "no"),
    ):
        with pytest.raises(ValidationError) as caught:
            await attempt
        assert code(caught) == "unknown_action"
    with pytest.raises(ValidationError) as caught:
        await world.approvals.revoke_rule(ANN, "nothing")
    assert code(caught) == "unknown_rule"


async def test_a_rule_made_from_an_approval_is_for_the_same_people_and_any_words(world: World) -> None:
    action_id = await world.park(message="*")

    _, rule = await world.approvals.approve(ANN, action_id, create_rule=RuleRequest())

    assert rule is not None
    assert {name: one.value for name, one in rule.constraints.items()} == {
        "channel": "telegram",
        "recipient": "555",
        "origin_butler": "general",
        "intent": "send",
    }
    assert (rule.created_from, rule.max_uses) == (action_id, None)
    assert await world.approvals.rules() == [rule]


@pytest.mark.parametrize(
    ("risk", "changes"),
    [
        pytest.param(Risk.HIGH, {}, id="what was approved is dangerous"),
        pytest.param(
            Risk.MEDIUM, {"channel": "email", "address": "a@b.example", "target_identity": "a@b.example"}, id="channel"
        ),
    ],
)
async def test_where_it_is_dangerous_such_a_rule_is_good_for_one_more(
    world: World, risk: Risk, changes: dict[str, Any]
) -> None:
    action_id = await world.park(risk, **changes)

    _, rule = await world.approvals.approve(ANN, action_id, create_rule=RuleRequest())

    assert rule is not None and rule.max_uses == 1


async def test_a_rule_that_must_not_be_made_stops_the_approval_it_came_with(world: World) -> None:
    action_id = await world.park()

    with pytest.raises(ValidationError) as caught:
        await world.approvals.approve(ANN, action_id, create_rule=parse_rule_request({"constraints": {}}))

    assert code(caught) == "too_wide"
    assert (await world.approvals.show(action_id))[0].status is ActionStatus.PENDING
