"""What is sent, frozen: to whom, as what, and what it changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.work.attention.sample import PERSON, accepted, empty

from postroom.domain.attention import Because, HoldReason
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Markup
from postroom.domain.outgoing import Outgoing
from postroom.work.attention.decisions import Decision, DecisionKind
from postroom.work.attention.digest import Member, frozen
from postroom.work.attention.fold import fold
from postroom.work.attention.freezing import ORIGIN, frozen_message

FACT = accepted("a", "09:00")
STATE = fold(empty(), FACT)
ASKED = Outgoing(origin_butler="cook", channel="telegram", message="Dinner *now*", markup=Markup(force_reply=True))
OTHER = Outgoing(origin_butler="oven", channel="telegram", message="Done")
D1 = DeliveryId("d1")


def decision(kind: DecisionKind = DecisionKind.RELEASE, **fields: Any) -> Decision:
    where = {"person": PERSON, "channel": "telegram", **fields}
    return Decision(id="i", cause="c", notice="a", seq=1, at_us=FACT.at_us, kind=kind, send="key", **where)


def message(made: Decision, asked: Outgoing = ASKED, revises: DeliveryId | None = None) -> Outgoing:
    return frozen_message(STATE, made, {"a": asked, "b": OTHER}, revises)


def test_where_it_was_meant_to_go_it_is_as_it_was_asked_under_the_key_of_the_send() -> None:
    assert message(decision()) == replace(ASKED, idempotency_key="key", released=True)


def test_elsewhere_it_goes_to_the_person_and_without_buttons_on_another_channel() -> None:
    mailed, handed_on = message(decision(channel="email")), message(decision(person="grace"))
    assert (mailed.recipient, mailed.channel, mailed.markup) == (PERSON, "email", None)
    assert (handed_on.recipient, handed_on.channel, handed_on.markup) == ("grace", "telegram", ASKED.markup)


def test_a_recall_says_what_it_takes_back_and_deletes_the_message_where_that_can_be_done() -> None:
    recall = decision(DecisionKind.CORRECT, reasons=(HoldReason(Because.WITHDRAWN),))
    gone = message(recall, revises=D1)
    assert (gone.message, gone.revises, gone.deletes) == ("Withdrawn: text of a", D1, True)


def test_what_has_buttons_is_a_message_of_its_own() -> None:
    assert message(decision(), revises=D1).revises is None
    assert message(decision(), replace(ASKED, markup=None), D1).revises == D1


def test_a_digest_speaks_for_several_agents_and_by_mail_has_a_subject() -> None:
    said = [message(close(one, "a", "b")) for one in ("telegram", "email")]
    assert [(one.origin_butler, one.recipient, one.subject) for one in said] == [
        (ORIGIN, PERSON, None),
        (ORIGIN, PERSON, "2 notices"),
    ]
    assert said[0].message == "2 notices\n• cook: Dinner *now*\n• oven: Done"


def test_what_is_alone_in_a_digest_is_the_message_that_was_asked_for() -> None:
    assert message(close("telegram", "a")) == replace(ASKED, idempotency_key="key", released=True)
    assert message(close("email", "a")).recipient == PERSON


def close(channel: str, *names: str) -> Decision:
    members = [Member(notice=replace(FACT.notice, id=one), urgency=FACT.notice.urgency, round=0) for one in names]
    digest = frozen(members, person=PERSON, channel=channel, at_us=FACT.at_us, due_us=FACT.at_us)
    return decision(DecisionKind.CLOSE_DIGEST, channel=channel, digest=digest)
