"""One turn is the same as all of them, and the state is stored and read as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from tests.attention.attended import new_notice
from tests.attention.histories import History, book_of, histories
from tests.attention.sample import PERSON, accepted, empty

from postroom.attention.model import Decision, DecisionKind
from postroom.attention.rules.digest import Member, frozen
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import Fact, Loaded, NoticeAccepted, NoticeChanges, NoticeRow, PersonRow, SendRow
from postroom.attention.turn import ORIGIN, Turn, frozen_message
from postroom.kernel.database.rows import of_json, to_json
from postroom.kernel.values.ids import DeliveryId
from postroom.message.markup import Markup
from postroom.message.outgoing import Outgoing

# -- Everything the engine makes is JSON and back the same value --


@settings(max_examples=60, deadline=None)
@given(histories())
def test_facts_and_decisions_come_back_as_they_were(history: History) -> None:
    run = simulate(history.facts, book_of(history), state=empty())
    for event in run.events:
        assert of_json(type(event), to_json(event)) == event


# -- What is sent, frozen: to whom, as what, and what it changes --


FACT = accepted("a", "09:00")
STATE = fold(empty(), FACT)
ASKED = Outgoing(origin_butler="cook", channel="telegram", message="Dinner *now*", markup=Markup(force_reply=True))
OTHER = Outgoing(origin_butler="oven", channel="telegram", message="Done")
D1 = DeliveryId("d1")


def decision(kind: DecisionKind = DecisionKind.RELEASE, **fields: Any) -> Decision:
    where = {"person": PERSON, "channel": "telegram", **fields}
    return Decision(id="i", cause="c", notice="a", seq=1, at_us=FACT.at_us, kind=kind, send="key", **where)


def message(made: Decision, asked: Outgoing = ASKED, revises: DeliveryId | None = None) -> Outgoing:
    return frozen_message(STATE, made, {"a": asked, "b": OTHER}, revises, letters={"work-mail"})


def test_elsewhere_it_goes_to_the_person_and_without_buttons_on_another_channel() -> None:
    mailed, handed_on = message(decision(channel="email")), message(decision(person="grace"))
    assert (mailed.recipient, mailed.channel, mailed.markup) == (PERSON, "email", None)
    assert (handed_on.recipient, handed_on.channel, handed_on.markup) == ("grace", "telegram", ASKED.markup)


def test_what_has_buttons_is_a_message_of_its_own() -> None:
    assert message(decision(), revises=D1).revises is None
    assert message(decision(), replace(ASKED, markup=None), D1).revises == D1


def test_a_digest_speaks_for_several_agents_and_has_a_subject_where_messages_are_letters() -> None:
    said = [message(close(one, "a", "b")) for one in ("telegram", "work-mail")]
    assert [(one.origin_butler, one.recipient, one.subject) for one in said] == [
        (ORIGIN, PERSON, None),
        (ORIGIN, PERSON, "2 notices"),
    ]
    assert said[0].message == "2 notices\n• cook: Dinner *now*\n• oven: Done"


def close(channel: str, *names: str) -> Decision:
    members = [Member(notice=replace(FACT.notice, id=one), urgency=FACT.notice.urgency, round=0) for one in names]
    digest = frozen(members, person=PERSON, channel=channel, at_us=FACT.at_us, due_us=FACT.at_us)
    return decision(DecisionKind.CLOSE_DIGEST, channel=channel, digest=digest)


class Rows:
    """What a store keeps, in memory."""

    def __init__(self) -> None:
        self.loaded = Loaded(person=None)
        self.facts: list[Fact] = []  # as they were noted: the end of a mute is one that no one told

    def write(self, changes: NoticeChanges) -> None:
        notices: Mapping[str, NoticeRow] = {
            **{one.id: one for one in self.loaded.notices},
            **{one.id: one for one in changes.notices},
        }
        sends: Mapping[str, SendRow] = {
            **{one.key: one for one in self.loaded.sends},
            **{one.key: one for one in changes.sends},
        }
        self.facts += [one.event for one in changes.log if isinstance(one.event, Fact)]
        digests = (*self.loaded.digests, *changes.digests)
        self.loaded = Loaded(
            person=changes.person,
            notices=tuple(notices.values()),
            sends=tuple(sends.values()),
            digests=digests,
            due=changes.due,
        )


@settings(max_examples=60, deadline=None)
@given(histories())
def test_turn_by_turn_with_rows_in_between_the_same_is_decided(history: History) -> None:
    facts = sorted(history.facts, key=lambda one: one.at_us)
    rows, book, made = Rows(), book_of(history), list[Decision]()
    rows.loaded = Loaded(person=PersonRow(person=PERSON, policy=book.people[PERSON]))
    for fact in facts:
        while (due := min(rows.loaded.due.values(), default=None)) is not None and due <= fact.at_us:
            made += _turn(rows, book, due, None)
        made += _turn(rows, book, fact.at_us, fact)
    run = simulate(rows.facts, book_of(history), state=empty(), until_us=facts[-1].at_us, receipts=False)
    assert made == list(run.decisions)
    assert rows.loaded.state(PERSON) == run.state


def _turn(rows: Rows, book: PolicyBook, now_us: int, fact: Fact | None) -> list[Decision]:
    turn = Turn(PERSON, rows.loaded, book, now_us)
    if isinstance(fact, NoticeAccepted):
        turn.accept(new_notice(fact))
    elif fact is not None:
        turn.take(fact)
    turn.judge()
    kept = {one.id: one.outgoing for one in rows.loaded.notices}
    sent = {one.key: one.outgoing for one in rows.loaded.sends}
    changes = turn.changes()
    for notice in changes.notices:
        notice.outgoing = notice.outgoing or kept.get(notice.id, "")
        notice.path = ()
    for send in changes.sends:
        send.outgoing = send.outgoing or sent.get(send.key, "")
    rows.write(changes)
    return list(turn.decisions)
