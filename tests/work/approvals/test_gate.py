"""Who passes unasked, and what becomes of the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import START_US
from tests.opened_database import opened_file
from tests.work.approvals.parked import HOUR_US, MINT, new_delivery
from tests.work.people.known_people import household_people, owner

from postroom.domain.delivery import Intent, Status
from postroom.domain.errors import StoreUnavailable
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.domain.risk_and_urgency import Risk
from postroom.work.approvals.gate import ApprovalGate, Mailboxes
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.ruling import expiration
from postroom.work.people.household_trust import HouseholdTrust
from postroom.work.people.new_contact import new_contact
from postroom.world.channels.email import Email
from postroom.world.channels.telegram import Telegram
from postroom.world.store.approvals.approvals import StoredApprovals
from postroom.world.store.conversations.conversations import StoredConversations
from postroom.world.store.engine.database import Database

CHANNELS = {
    "telegram": Telegram("1:token", "http://127.0.0.1:1"),
    "email": Email("127.0.0.1", 1, "none", None, None, "postroom@sandbox.example"),
}
PEOPLE = [
    owner("Ann", "1000", "Ann@home.example"),
    new_contact(name="Alice", email="alice@friends.example", trusted=True),
    new_contact(name="Bob", telegram_chat_id="3000", email="bob@friends.example"),
]


MARKUP = Markup(buttons=((Button(label="Yes", token="t"),),))
REVISION = Revision(delivery_id=DeliveryId("0198c0de"), provider_ids=("7",))


class OneMailbox:
    async def is_users_own(self, channel: str, address: str) -> bool:
        return (channel, address) == ("email", "user@home.example")

    async def awaits_confirmation(self, channel: str, address: str) -> bool:
        return (channel, address) == ("email", "new@home.example")


class BrokenTrust:
    async def is_trusted(self, channel: str, address: str) -> bool:
        raise StoreUnavailable("gone")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_file(tmp_path) as database:
        yield database


@pytest.fixture
async def gate(database: Database) -> ApprovalGate:
    mailboxes: Mailboxes = OneMailbox()
    _, people = await household_people(database, *PEOPLE)
    return ApprovalGate(
        trust=HouseholdTrust(people, CHANNELS),
        record=StoredApprovals(database, MINT.mint, expiration),
        policy=ApprovalPolicy(),
        mailboxes=mailboxes,
        conversations=StoredConversations(database),
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
    database: Database, gate: ApprovalGate, intent: Intent
) -> None:
    await StoredConversations(database).hear("telegram", "555", "7", START_US)

    assert await gate.passes(new_delivery(intent=intent, thread="7"))
    assert not await gate.passes(new_delivery(intent=intent, thread="8"))
    assert not await gate.passes(new_delivery(intent=intent, thread="7", address="556"))
    assert not await gate.passes(new_delivery(intent=Intent.SEND))


async def test_a_household_can_ask_about_answers_too(database: Database, gate: ApprovalGate) -> None:
    await StoredConversations(database).hear("telegram", "555", "7", START_US)
    strict = replace(gate, policy=ApprovalPolicy(replies_pass=False))

    assert not await strict.passes(new_delivery(intent=Intent.REPLY, thread="7"))


async def test_what_is_parked_rings_once_and_carries_its_risk_and_expiry(gate: ApprovalGate) -> None:
    gate = replace(gate, policy=ApprovalPolicy(expiry_hours=2))
    new = new_delivery(message="hidden\u202e", idempotency_key="same")

    first = gate.signal.news()
    inserted = await gate.park(new)
    second = gate.signal.news()
    await gate.park(new_delivery(idempotency_key="same"))

    assert (inserted.snapshot.status, first.is_set(), second.is_set()) == (Status.AWAITING_APPROVAL, True, False)
    record = gate.record
    assert isinstance(record, StoredApprovals)
    action = await record.action(new.id)
    assert action is not None
    assert (action.risk, action.expires_at_us) == (Risk.HIGH, START_US + 2 * HOUR_US)


async def test_when_the_gate_cannot_tell_it_lets_nobody_pass(gate: ApprovalGate) -> None:
    with pytest.raises(StoreUnavailable):
        await replace(gate, trust=BrokenTrust()).passes(new_delivery())
