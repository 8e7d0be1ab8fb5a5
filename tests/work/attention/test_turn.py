"""Turn by turn with rows in between, the same is decided as in one run."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from tests.work.attention.histories import History, histories
from tests.work.attention.sample import PERSON, empty
from tests.work.attention.test_codec import book_of

from postroom.domain.notice_rows import Loaded, NoticeChanges, NoticeRow, PersonRow, SendRow
from postroom.domain.outgoing import Outgoing
from postroom.work.attention.codec import encoded
from postroom.work.attention.decisions import Decision
from postroom.work.attention.facts import Fact, NoticeAccepted
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.simulate import simulate
from postroom.work.attention.stored import event_of, state_of
from postroom.work.attention.turn import NewNotice, Turn


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
        self.facts += [one for one in map(event_of, changes.log) if isinstance(one, Fact)]
        digests = (*self.loaded.digests, *changes.digests)
        self.loaded = Loaded(
            person=changes.person, notices=tuple(notices.values()), sends=tuple(sends.values()), digests=digests
        )


@settings(max_examples=60, deadline=None)
@given(histories())
def test_turn_by_turn_with_rows_in_between_the_same_is_decided(history: History) -> None:
    facts = sorted(history.facts, key=lambda one: one.at_us)
    rows, book, made = Rows(), book_of(history), list[Decision]()
    rows.loaded = Loaded(person=_policy_row(book.people[PERSON]))
    for fact in facts:
        while (due := rows.loaded.person.next_us if rows.loaded.person else None) is not None and due <= fact.at_us:
            made += _turn(rows, book, due, None)
        made += _turn(rows, book, fact.at_us, fact)
    run = simulate(rows.facts, book_of(history), state=empty(), until_us=facts[-1].at_us, receipts=False)
    assert made == list(run.decisions)
    assert state_of(PERSON, rows.loaded) == run.state


def _policy_row(policy: object) -> PersonRow:
    return PersonRow(person=PERSON, policy=encoded(policy), rest="{}", seq=0, next_us=None)


def _turn(rows: Rows, book: PolicyBook, now_us: int, fact: Fact | None) -> list[Decision]:
    turn = Turn(PERSON, rows.loaded, book, now_us)
    if isinstance(fact, NoticeAccepted):
        outgoing = Outgoing(origin_butler=fact.notice.agent, channel=fact.notice.channel, message=fact.notice.text)
        turn.accept(NewNotice(fact=fact, outgoing=outgoing, request_id="r", fingerprint=""))
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
