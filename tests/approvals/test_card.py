"""The card about a parked message: who wants what from whom, and the message where it may be decided there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.approvals.parked import HOUR_US, MINT, content, new_delivery, pending_action
from tests.clock import START_US, FakeClock
from tests.opened_database import opened_file
from tests.patience import PATIENCE_SECONDS
from tests.people.known_people import owner
from tests.support.counted import CountedLoops

from postroom.approvals import rules
from postroom.approvals.acts import action_body, hidden_characters, rule_body, whole_action_body
from postroom.approvals.card import (
    Deciders,
    Watch,
    approval_question,
    outside_console,
)
from postroom.approvals.model import (
    Action,
    ActionStatus,
    ApprovalEvent,
    ApprovalEventType,
    Bound,
    Constraint,
    ConstraintKind,
    Parking,
    Ruling,
    ShownAction,
    StandingRule,
    bound_of,
    subject_of,
)
from postroom.approvals.rules import ApprovalPolicy, expiration
from postroom.approvals.store.approvals import StoredApprovals
from postroom.household.store import stored_people
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.outgoing import ASKER, Outgoing
from postroom.message.wishes import Risk
from postroom.people.person_rules import new_contact
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import AskedPerson, Presentation, Question, QuestionStatus
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import ChannelAbility
from postroom.questions.store.questions import StoredQuestions

ANN = AskedPerson(id="owner", name="Ann")
CHANNELS = {
    "telegram": ChannelAbility(buttons=True, edits=True, inbound=True, threads=True),
    "email": ChannelAbility(),
}


def hostile_action(risk: Risk = Risk.MEDIUM) -> Action:
    action = pending_action()
    content = replace(action.content, message="secret words\u202e", address="p\u0430ypal")
    return replace(action, content=content, risk=risk)


def asked(action: Action, phone: Risk | None = Risk.MEDIUM) -> Question:
    return approval_question(action, id="q1", people=(ANN,), channels=("telegram",), now_us=START_US, phone=phone)


def card(question: Question, channel: str, phone: Risk | None = Risk.MEDIUM) -> Outgoing:
    maker = CardMaker(channels=CHANNELS, key=b"k" * 32, base_url="http://house", outside=outside_console(phone))
    shown = Presentation(
        id="p1",
        question_id=question.id,
        person_id="owner",
        channel=channel,
        address="1000",
        created_at_us=START_US,
        updated_at_us=START_US,
    )
    return maker.asking(question, shown).outgoing


def labels(outgoing: Outgoing) -> list[str]:
    return [button.label for row in (outgoing.markup.buttons if outgoing.markup else ()) for button in row]


@pytest.mark.requirement("ask:approval-card")
def test_the_card_says_who_wants_what_with_nothing_hidden() -> None:
    action = hostile_action()
    sent = card(asked(action), "telegram")

    assert "general wants to send on telegram to p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal" in sent.message
    assert "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" in sent.message
    assert action.id in sent.message
    assert labels(sent) == ["Send", "Don't send", "Open"]


@pytest.mark.requirement("ask:approval-card")
def test_by_mail_it_has_a_subject_and_a_link() -> None:
    sent = card(asked(hostile_action()), "email")

    assert (sent.subject, labels(sent)) == ("Approval needed", ["Answer"])
    assert "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" in sent.message


@pytest.mark.requirement("ask:approval-card")
@pytest.mark.parametrize(("risk", "phone"), [(Risk.HIGH, Risk.MEDIUM), (Risk.LOW, None)])
def test_a_card_that_decides_nothing_has_no_word_of_the_message(risk: Risk, phone: Risk | None) -> None:
    sent = card(asked(hostile_action(risk), phone), "telegram", phone)

    assert labels(sent) == ["Open"]
    assert "secret words" not in sent.message


@pytest.mark.requirement("ask:approval-card")
def test_the_pages_show_the_message_with_nothing_hidden() -> None:
    assert asked(hostile_action()).wording.context == "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧"


@pytest.mark.requirement("ask:approval-card")
def test_it_is_bound_to_what_was_parked_and_as_long_as_it_waits() -> None:
    action = hostile_action()
    question = asked(action)

    assert bound_of(question) == Bound(content_hash=action.content_hash, risk=Risk.MEDIUM)
    assert question.expires_at_us == action.expires_at_us


@pytest.mark.requirement("ask:approval-card")
@pytest.mark.requirement("ask:approval-risk")
@pytest.mark.parametrize(
    ("phone", "risk", "decided_there"),
    [
        (Risk.MEDIUM, Risk.LOW, True),
        (Risk.MEDIUM, Risk.MEDIUM, True),
        (Risk.MEDIUM, Risk.HIGH, False),
        (Risk.HIGH, Risk.HIGH, True),
        (Risk.HIGH, Risk.CRITICAL, False),
        (None, Risk.LOW, False),
    ],
)
@pytest.mark.parametrize("channel", ["telegram", "email"])
def test_above_the_bound_the_card_only_leads_to_the_console(
    phone: Risk | None, risk: Risk, decided_there: bool, channel: str
) -> None:
    question = asked(hostile_action(risk))

    assert outside_console(phone)(question) is decided_there
    if not decided_there:
        sent = card(question, channel, phone)
        assert labels(sent) == ["Open"]
        assert "“Send”" not in sent.message and "1. Send" not in sent.message


# ---- as every door shows it ----


def test_a_summary_hides_nothing_and_promises_no_more_than_a_preview() -> None:
    long = content(message="a\u202e" + "x" * 500, address="p\u0430ypal")

    shown = action_body(pending_action(content=long, content_hash=long.hash))

    assert shown["preview"] == "a⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" + "x" * 198
    assert shown["recipient"] == "p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal"
    assert "decided_by" not in shown


def test_a_decided_action_says_by_whom() -> None:
    shown = action_body(pending_action(status=ActionStatus.REJECTED, decided_by="user:ann", decided_at_us=START_US))

    assert (shown["decided_by"], shown["decided_at"]) == ("user:ann", "2026-01-01T00:00:00.000000Z")


def test_the_detail_is_exact_and_says_when_somebody_changed_the_row() -> None:
    event = ApprovalEvent(id="e", type=ApprovalEventType.ACTION_QUEUED, actor="butler:general", at_us=START_US)
    action = pending_action()

    shown = whole_action_body(ShownAction(action=action, events=[event]))
    changed = whole_action_body(ShownAction(action=replace(action, content=content(message="other")), events=[]))

    assert shown["content"]["message"] == shown["visible"]["message"] == action.content.message
    assert (shown["intact"], changed["intact"]) == (True, False)
    assert [one["type"] for one in shown["events"]] == ["action_queued"]


def test_warnings_name_the_field_and_the_place() -> None:
    assert hidden_characters(content(subject="ab\u200b")) == [
        {"field": "subject", "kind": "invisible", "character": "U+200B ZERO WIDTH SPACE", "position": 2}
    ]


def test_a_rule_is_shown_as_it_can_be_written() -> None:
    constraints = {"channel": Constraint(ConstraintKind.ANY), "recipient": Constraint(ConstraintKind.EXACT, "5")}
    rule = StandingRule(id="r", constraints=constraints, description="d", created_by="operator", created_at_us=START_US)

    shown = rule_body(rule, START_US).model_dump()

    assert shown["constraints"] == {"channel": {"type": "any"}, "recipient": {"type": "exact", "value": "5"}}
    assert (shown["active"], shown["specificity"], shown["expires_at"]) == (True, 2, None)


# ---- asking the people, and ending in time ----


@dataclass
class Desk:
    """The store with what the watch needs beside it."""

    record: StoredApprovals
    questions: StoredQuestions
    clock: FakeClock
    deciders: Deciders
    rung: asyncio.Event = field(default_factory=asyncio.Event)

    def watch(self, *, asks: bool = True) -> Watch:
        return Watch(
            record=self.record,
            policy=ApprovalPolicy(sweep_seconds=60),
            clock=self.clock,
            mint=MINT.mint,
            asked=self.rung.set,
            deciders=self.deciders if asks else None,
        )

    async def park(self, **changes: Any) -> DeliveryId:
        new = new_delivery(**changes)
        parking = Parking(risk=Risk.MEDIUM, expires_at_us=self.clock.now_us() + HOUR_US, most_pending=100)
        await self.record.park(new, parking, lambda _: [])
        return new.id

    async def about(self, action_id: str) -> list[Question]:
        return list(await self.questions.about(subject_of(action_id)))


async def _deciders(database: Database) -> Deciders:
    """The owner, and Ben, who is trusted."""
    people = stored_people(database, MINT)
    await people.keep_in_step(HOUSEHOLD_OWNER, [owner("Ann", "1000")], now_us=1)
    ben = new_contact(name="Ben", telegram_chat_id="2000", trusted=True)
    await people.create(HOUSEHOLD_OWNER, ben, source="test", now_us=1, reserved_id="ben")
    return Deciders(people=AskedPeople(book=people), approvers=("ben",), channels=("telegram",))


@pytest.fixture
async def desk(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Desk]:
    async with opened_file(tmp_path) as database:
        record = StoredApprovals(database, MINT.mint, expiration)
        yield Desk(record, StoredQuestions(database, Seal(bytes(32))), clock, await _deciders(database))


async def test_each_action_is_asked_about_once_and_for_as_long_as_it_waits(desk: Desk) -> None:
    first = await desk.park()
    await desk.watch().ask()
    second = await desk.park()
    await asyncio.gather(desk.watch().ask(), desk.watch().ask())
    await desk.watch().ask()

    [one], [other] = await desk.about(first), await desk.about(second)

    assert [person.id for person in one.people] == ["owner", "ben"]
    assert (one.channels, one.status) == (("telegram",), QuestionStatus.OPEN)
    action = await desk.record.action(other.subject.id if other.subject else "")  # type: ignore[arg-type]
    assert action is not None and other.expires_at_us == action.expires_at_us
    assert desk.rung.is_set()


async def test_more_than_a_batch_is_asked_about_in_one_round(desk: Desk) -> None:
    ids = [await desk.park() for _ in range(45)]

    await desk.watch().ask()

    assert [len(await desk.about(one)) for one in ids] == [1] * 45


async def test_what_was_decided_before_it_was_asked_about_is_not_asked_about(desk: Desk) -> None:
    action_id = await desk.park()
    [waiting] = await desk.record.unasked(10)

    def judge(action: Any) -> Ruling:
        return rules.rejection(action, actor="person:owner", now_us=desk.clock.now_us(), reason="no")

    await desk.record.decide(action_id, judge)
    await desk.watch()._ask(waiting, desk.deciders)

    assert await desk.about(action_id) == []


async def test_about_a_card_that_waits_itself_only_the_owner_is_asked(desk: Desk) -> None:
    action_id = await desk.park(origin_butler=ASKER)

    await desk.watch().ask()

    [question] = await desk.about(action_id)
    assert [person.id for person in question.people] == ["owner"]


async def test_without_cards_nobody_is_asked(desk: Desk) -> None:
    action_id = await desk.park()

    await desk.watch(asks=False).look()

    assert await desk.about(action_id) == []


@pytest.mark.requirement("ask:approval-elsewhere")
async def test_the_watch_ends_what_is_overdue_with_its_question_and_stops_when_told(desk: Desk) -> None:
    clock, record, watch = desk.clock, desk.record, desk.watch()
    ids = [await desk.park(), await desk.park()]
    async with CountedLoops(clock).running("approvals", watch.look, wake=watch.signal):
        await clock.parked()
        while (action := await record.action(ids[-1])) and action.status is ActionStatus.PENDING:
            await clock.advance(1800)
            await clock.parked()

    assert action is not None and action.status is ActionStatus.EXPIRED
    ended = [question.status for one in ids for question in await desk.about(one)]
    assert ended == [QuestionStatus.EXPIRED] * 2


async def test_the_bell_makes_it_ask_at_once(desk: Desk) -> None:
    watch = desk.watch()
    async with CountedLoops(desk.clock).running("approvals", watch.look, wake=watch.signal):
        await desk.clock.parked()
        action_id = await desk.park()

        watch.signal.ring()
        await asyncio.wait_for(desk.rung.wait(), PATIENCE_SECONDS)

    assert len(await desk.about(action_id)) == 1
