"""The card about a parked message: who wants what from whom, and the message where it may be decided there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import START_US
from tests.work.approvals.parked import pending_action

from postroom.approvals.card import approval_question, outside_console
from postroom.approvals.model import Action, Bound, bound_of
from postroom.message.outgoing import Outgoing
from postroom.message.wishes import Risk
from postroom.questions.model import AskedPerson, Presentation, Question
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import ChannelAbility

ANN = AskedPerson(id="owner", name="Ann")
CHANNELS = {
    "telegram": ChannelAbility(buttons=True, edits=True, inbound=True, threads=True),
    "email": ChannelAbility(),
}
pytestmark = pytest.mark.requirement("ask:approval-card")


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


def test_the_card_says_who_wants_what_with_nothing_hidden() -> None:
    action = hostile_action()
    sent = card(asked(action), "telegram")

    assert "general wants to send on telegram to p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal" in sent.message
    assert "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" in sent.message
    assert action.id in sent.message
    assert labels(sent) == ["Send", "Don't send", "Open"]


def test_by_mail_it_has_a_subject_and_a_link() -> None:
    sent = card(asked(hostile_action()), "email")

    assert (sent.subject, labels(sent)) == ("Approval needed", ["Answer"])
    assert "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" in sent.message


@pytest.mark.parametrize(("risk", "phone"), [(Risk.HIGH, Risk.MEDIUM), (Risk.LOW, None)])
def test_a_card_that_decides_nothing_has_no_word_of_the_message(risk: Risk, phone: Risk | None) -> None:
    sent = card(asked(hostile_action(risk), phone), "telegram", phone)

    assert labels(sent) == ["Open"]
    assert "secret words" not in sent.message


def test_the_pages_show_the_message_with_nothing_hidden() -> None:
    assert asked(hostile_action()).wording.context == "secret words⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧"


def test_it_is_bound_to_what_was_parked_and_as_long_as_it_waits() -> None:
    action = hostile_action()
    question = asked(action)

    assert bound_of(question) == Bound(content_hash=action.content_hash, risk=Risk.MEDIUM)
    assert question.expires_at_us == question.next_at_us == action.expires_at_us


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
