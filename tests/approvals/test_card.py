"""The card about a parked message: who wants what from whom, and the message where it may be decided there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.approvals.parked import HOUR_US, MINT, PARKING, content, new_delivery, pending_action
from tests.clock import START_US, FakeClock
from tests.people.known_people import owner

from postroom.approvals.acts import action_body, hidden_characters, rule_body, whole_action_body
from postroom.approvals.approvals import ApprovalGate, Deciders
from postroom.approvals.card import approval_question, outside_console
from postroom.approvals.model import (
    ActionStatus,
    ApprovalEvent,
    ApprovalEventType,
    Bound,
    Constraint,
    ConstraintKind,
    ShownAction,
    StandingRule,
    bound_of,
    content_of,
)
from postroom.approvals.rules import ApprovalPolicy
from postroom.approvals.store.approvals import HeardThreads, StoredApprovals
from postroom.delivery.model import NewDelivery
from postroom.household.store import stored_people
from postroom.inbox.store.mail import StoredPreferences
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.outgoing import ASKER, Outgoing
from postroom.message.wishes import Risk
from postroom.people.people import HouseholdPeople, HouseholdTrust
from postroom.people.person_rules import new_contact
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import AskedPerson, Presentation, Question, QuestionStatus, Subject, SubjectKind
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import ChannelAbility
from postroom.questions.store.questions import StoredQuestions

ANN = AskedPerson(id="owner", name="Ann")
CHANNELS = {
    "telegram": ChannelAbility(buttons=True, edits=True, inbound=True, threads=True),
    "email": ChannelAbility(),
}


def hostile_delivery() -> NewDelivery:
    return new_delivery(message="secret words\u202e", address="p\u0430ypal")


def asked(new: NewDelivery, risk: Risk = Risk.MEDIUM, phone: Risk | None = Risk.MEDIUM) -> Question:
    parking = replace(PARKING, risk=risk, people=(ANN,), channels=("telegram",), phone=phone)
    return approval_question(new, parking, id="q1", now_us=START_US, again=False)


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
    new = hostile_delivery()
    sent = card(asked(new), "telegram")

    assert "general wants to send on telegram to p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal" in sent.message
    assert "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" in sent.message
    assert new.id not in sent.message
    assert labels(sent) == ["Send", "Don't send", "Open"]


@pytest.mark.requirement("ask:approval-card")
def test_by_mail_it_has_a_subject_and_a_link() -> None:
    sent = card(asked(hostile_delivery()), "email")

    assert (sent.subject, labels(sent)) == ("Approval needed", ["Answer"])
    assert "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" in sent.message


@pytest.mark.requirement("ask:approval-card")
@pytest.mark.parametrize(("risk", "phone"), [(Risk.HIGH, Risk.MEDIUM), (Risk.LOW, None)])
def test_a_card_that_decides_nothing_has_no_word_of_the_message(risk: Risk, phone: Risk | None) -> None:
    sent = card(asked(hostile_delivery(), risk, phone), "telegram", phone)

    assert labels(sent) == ["Open"]
    assert "secret words" not in sent.message


@pytest.mark.requirement("ask:approval-card")
def test_the_pages_show_the_message_with_nothing_hidden() -> None:
    assert asked(hostile_delivery()).wording.context == "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧"


@pytest.mark.requirement("ask:approval-card")
def test_it_is_bound_to_what_was_parked_and_as_long_as_it_waits() -> None:
    new = hostile_delivery()
    question = asked(new)

    assert bound_of(question) == Bound(content_hash=content_of(new).hash, risk=Risk.MEDIUM)
    assert question.expires_at_us == PARKING.expires_at_us


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
    question = asked(hostile_delivery(), risk)

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


# ---- whom it asks ----


async def _deciders(database: Database) -> Deciders:
    """The owner, and Ben, who is trusted."""
    people = stored_people(database, MINT)
    await people.keep_in_step(HOUSEHOLD_OWNER, [owner("Ann", "1000")], now_us=1)
    ben = new_contact(name="Ben", telegram_chat_id="2000", trusted=True)
    await people.create(HOUSEHOLD_OWNER, ben, source="test", now_us=1, reserved_id="ben")
    return Deciders(people=AskedPeople(book=people), approvers=("ben",), channels=("telegram",))


@pytest.fixture
async def gate(sqlite_database: Database) -> ApprovalGate:
    book = HouseholdPeople(stored_people(sqlite_database, MINT), FakeClock())
    preferences = StoredPreferences(sqlite_database)
    return ApprovalGate(
        trust=HouseholdTrust(book, {}),
        record=StoredApprovals(sqlite_database, MINT.mint),
        policy=ApprovalPolicy(),
        conversations=HeardThreads(sqlite_database),
        is_users_own=preferences.is_users_own,
        awaits_confirmation=preferences.awaits_confirmation,
        deciders=await _deciders(sqlite_database),
    )


async def question_about(gate: ApprovalGate, database: Database, **changes: Any) -> Question:
    new = new_delivery(**changes)
    await gate.park(new)
    [question] = await StoredQuestions(database, Seal(bytes(32))).about(Subject(SubjectKind.APPROVAL, new.id))
    return question


async def test_it_is_asked_once_from_the_moment_it_is_parked_and_for_as_long_as_it_waits(
    gate: ApprovalGate, sqlite_database: Database
) -> None:
    question = await question_about(gate, sqlite_database)

    assert [person.id for person in question.people] == ["owner", "ben"]
    assert (question.channels, question.status) == (("telegram",), QuestionStatus.OPEN)
    assert question.expires_at_us == START_US + 48 * HOUR_US


async def test_about_a_card_that_waits_itself_only_the_owner_is_asked(
    gate: ApprovalGate, sqlite_database: Database
) -> None:
    question = await question_about(gate, sqlite_database, origin_butler=ASKER)

    assert [person.id for person in question.people] == ["owner"]


async def test_without_cards_nobody_is_asked_and_it_waits_all_the_same(
    gate: ApprovalGate, sqlite_database: Database
) -> None:
    question = await question_about(replace(gate, deciders=None), sqlite_database)

    assert (question.people, question.channels) == ((), ("console",))
