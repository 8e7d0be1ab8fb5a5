"""What people can do, and nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from tests.approvals.parked import CHANNELS, HOUR_US, MINT, DecidingDesk, deciding_desk, new_delivery
from tests.clock import START_US, FakeClock
from tests.opened_database import opened_file
from tests.people.known_people import household_people, owner

from postroom.approvals.approvals import ApprovalGate, Approvals
from postroom.approvals.model import ActionStatus
from postroom.approvals.rules import ApprovalPolicy, RuleRequest, parse_rule_request
from postroom.approvals.store.approvals import HeardThreads, StoredApprovals
from postroom.household.store import stored_people
from postroom.inbox.store.mail import StoredConfirmations, StoredPreferences, ask_to_confirm
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import StoreUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.delivery import Intent, Status
from postroom.message.markup import Button, Markup, Revision
from postroom.message.wishes import Risk
from postroom.people.people import HouseholdTrust
from postroom.people.person_rules import new_contact

ANN = Principal(Role.USER, "ann")
MACHINES = [
    Principal(Role.BUTLER, "general"),
    Principal(Role.BUTLER, "messenger"),
    Principal(Role.BUTLER, "operator"),
    Principal(Role.CONNECTOR, "chatgpt"),
]


@dataclass
class World:
    desk: DecidingDesk
    clock: FakeClock

    @property
    def approvals(self) -> Approvals:
        return self.desk.approvals

    @property
    def released(self) -> list[int]:
        return self.desk.released

    async def park(self, risk: Risk = Risk.MEDIUM, **changes: Any) -> DeliveryId:
        return (await self.desk.park(parking={"risk": risk}, **changes)).id


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with opened_file(tmp_path) as database:
        yield World(deciding_desk(database, clock), clock)


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

    action = (await world.approvals.show(ANN, action_id)).action
    assert (action.status, world.released) == (ActionStatus.PENDING, [])
    assert len(await world.approvals.rules(ANN)) == 1


async def test_the_hash_that_was_seen_must_be_the_hash_that_is_sent(world: World) -> None:
    action_id = await world.park()

    with pytest.raises(ValidationError) as caught:
        await world.approvals.approve(ANN, action_id, content_hash="0" * 64)
    assert (code(caught), world.released) == ("hash_mismatch", [])

    action = (await world.approvals.show(ANN, action_id)).action
    done, _ = await world.approvals.approve(ANN, action_id, content_hash=action.content_hash)
    assert done.status is ActionStatus.APPROVED


async def test_an_edit_is_checked_applied_and_hashed_anew(world: World) -> None:
    action_id = await world.park()
    before = (await world.approvals.show(ANN, action_id)).action

    with pytest.raises(ValidationError):
        await world.approvals.approve(ANN, action_id, edits={"message": ""})
    done, _ = await world.approvals.approve(
        ANN, action_id, content_hash=before.content_hash, edits={"message": "At nine", "recipient": "777"}
    )

    assert (done.content.message, done.content.address, done.edited) == ("At nine", "777", True)
    assert done.content_hash == done.content.hash != before.content_hash


async def test_too_late_says_so_before_it_complains_about_an_edit(world: World) -> None:
    action_id = await world.park()
    await world.clock.advance(48 * 3600)

    with pytest.raises(ValidationError, match="too late") as caught:
        await world.approvals.approve(ANN, action_id, edits={"message": ""})

    assert code(caught) == "too_late"
    assert (await world.approvals.show(ANN, action_id)).action.status is ActionStatus.EXPIRED


async def test_looking_ends_what_is_overdue(world: World) -> None:
    action_id = await world.park()
    await world.clock.advance(49 * 3600)

    assert (await world.approvals.page(ANN)).actions == []
    assert [one.id for one in (await world.approvals.page(ANN, status="expired")).actions] == [action_id]


async def test_a_rejection_is_final(world: World) -> None:
    action_id = await world.park()
    await world.approvals.reject(ANN, action_id, "not today")

    with pytest.raises(ValidationError) as caught:
        await world.approvals.approve(ANN, action_id)

    assert (code(caught), world.released) == ("already_decided", [])


async def test_what_does_not_exist_is_unknown(world: World) -> None:
    for attempt in (
        world.approvals.show(ANN, "nothing"),
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
    assert await world.approvals.rules(ANN) == [rule]


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
    assert (await world.approvals.show(ANN, action_id)).action.status is ActionStatus.PENDING


PEOPLE = [
    owner("Ann", "1000", "Ann@home.example"),
    new_contact(name="Alice", email="alice@friends.example", trusted=True),
    new_contact(name="Bob", telegram_chat_id="3000", email="bob@friends.example"),
]


MARKUP = Markup(buttons=((Button(label="Yes", token="t"),),))
REVISION = Revision(delivery_id=DeliveryId("0198c0de"), provider_ids=("7",))


async def mailboxes(database: Database) -> StoredPreferences:
    """One that is a user's own, and one that is just being asked whether it is."""
    stored, new = StoredPreferences(database), "new@home.example"
    await stored.change("ann", lambda wishes: replace(wishes, email="user@home.example", email_pending=new), START_US)

    def ask(connection: Connection) -> None:
        ask_to_confirm(connection, "ann", new, START_US)

    await database.write(ask)
    confirmations = StoredConfirmations(database, stored_people(database, MINT))
    await confirmations.take(now_us=START_US, lease_until_us=START_US + HOUR_US)
    return stored


class BrokenTrust:
    async def is_trusted(self, channel: str, address: str) -> bool:
        raise StoreUnavailable("gone")


@pytest.fixture
async def gate(sqlite_database: Database) -> ApprovalGate:
    preferences = await mailboxes(sqlite_database)
    _, people = await household_people(sqlite_database, *PEOPLE)
    return ApprovalGate(
        trust=HouseholdTrust(people, CHANNELS),
        record=StoredApprovals(sqlite_database, MINT.mint),
        policy=ApprovalPolicy(),
        is_users_own=preferences.is_users_own,
        awaits_confirmation=preferences.awaits_confirmation,
        conversations=HeardThreads(sqlite_database),
    )


@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        pytest.param({"address": "1000"}, True, id="the owner"),
        pytest.param({"channel": "email", "address": "Ann@home.example"}, True, id="the owner by mail"),
        pytest.param({"channel": "email", "address": "ann@home.example"}, True, id="in another case"),
        pytest.param({"channel": "email", "address": "alice@friends.example"}, True, id="a trusted contact"),
        pytest.param({"channel": "telegram", "address": "2000"}, False, id="who is trusted on another channel only"),
        pytest.param({"address": "3000"}, False, id="a contact who is not trusted"),
        pytest.param({"address": "555"}, False, id="a stranger"),
        pytest.param({"channel": "email", "address": "1000"}, False, id="the owner's chat on another channel"),
        pytest.param({"channel": "email", "address": "\u212aann@home.example"}, False, id="a look-alike"),
        pytest.param({"channel": "fax", "address": "1000"}, False, id="a channel nobody knows"),
        pytest.param({"address": "1000", "origin_butler": "anyone"}, True, id="whoever asks"),
        pytest.param(
            {"channel": "email", "address": "user@home.example", "origin_butler": "inbox"}, True, id="a user's own copy"
        ),
        pytest.param(
            {"channel": "email", "address": "user@home.example", "origin_butler": "general"}, False, id="not the inbox"
        ),
        pytest.param(
            {"channel": "email", "address": "else@home.example", "origin_butler": "inbox"}, False, id="not their own"
        ),
        pytest.param(
            {"channel": "email", "address": "new@home.example", "origin_butler": "inbox.confirmation"},
            True,
            id="whether an address is somebody's own",
        ),
        pytest.param(
            {"channel": "email", "address": "new@home.example", "origin_butler": "inbox"},
            False,
            id="not before that",
        ),
        pytest.param(
            {"channel": "email", "address": "else@home.example", "origin_butler": "inbox.confirmation"},
            False,
            id="an address nobody gave",
        ),
        pytest.param({"intent": Intent.REPLY, "thread": "7"}, False, id="a reply nobody asked for"),
        pytest.param({"intent": Intent.REPLY, "address": "1000", "thread": "7"}, True, id="a reply to the owner"),
        pytest.param({"address": "555", "markup": MARKUP}, False, id="a stranger, with buttons"),
        pytest.param({"address": "555", "revises": REVISION}, False, id="an agent's edit is a new text"),
        pytest.param(
            {"address": "555", "revises": REVISION, "origin_butler": "questions"}, True, id="the household's own words"
        ),
        pytest.param(
            {"address": "555", "revises": REVISION, "origin_butler": "questions", "asker": "health"},
            False,
            id="an agent's new words on the household's card",
        ),
        pytest.param(
            {"address": "555", "revises": REVISION, "origin_butler": "questions", "asker": "health", "repeats": True},
            True,
            id="an agent's words that stand there already",
        ),
        pytest.param(
            {"address": "555", "revises": replace(REVISION, deletes=True)}, True, id="a deletion says nothing"
        ),
    ],
)
async def test_who_passes(gate: ApprovalGate, changes: dict[str, Any], passes: bool) -> None:
    assert await gate.passes(new_delivery(**changes)) is passes


@pytest.mark.parametrize("intent", [Intent.REPLY, Intent.REACT])
async def test_an_answer_passes_only_in_the_thread_that_was_heard(
    sqlite_database: Database, gate: ApprovalGate, intent: Intent
) -> None:
    await HeardThreads(sqlite_database).hear("telegram", "555", "7", START_US)

    assert await gate.passes(new_delivery(intent=intent, thread="7"))
    assert not await gate.passes(new_delivery(intent=intent, thread="8"))
    assert not await gate.passes(new_delivery(intent=intent, thread="7", address="556"))
    assert not await gate.passes(new_delivery(intent=Intent.SEND))


async def test_a_household_can_ask_about_answers_too(sqlite_database: Database, gate: ApprovalGate) -> None:
    await HeardThreads(sqlite_database).hear("telegram", "555", "7", START_US)
    strict = replace(gate, policy=ApprovalPolicy(replies_pass=False))

    assert not await strict.passes(new_delivery(intent=Intent.REPLY, thread="7"))


async def test_what_is_parked_rings_once_and_carries_its_risk_and_expiry(gate: ApprovalGate) -> None:
    rung = list[int]()
    gate = replace(gate, policy=ApprovalPolicy(expiry_hours=2), asked=[lambda: rung.append(1)])
    new = new_delivery(message="hidden\u202e", idempotency_key="same")

    inserted = await gate.park(new)
    await gate.park(new_delivery(idempotency_key="same"))

    assert (inserted.snapshot.status, rung) == (Status.AWAITING_APPROVAL, [1])
    action = await gate.record.action(new.id)
    assert action is not None
    assert (action.risk, action.expires_at_us) == (Risk.HIGH, START_US + 2 * HOUR_US)


async def test_when_the_gate_cannot_tell_it_lets_nobody_pass(gate: ApprovalGate) -> None:
    with pytest.raises(StoreUnavailable):
        await replace(gate, trust=BrokenTrust()).passes(new_delivery())
