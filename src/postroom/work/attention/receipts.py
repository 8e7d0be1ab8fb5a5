"""What became of a delivery, as facts about its notices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postroom.domain.delivery import Status
from postroom.domain.notice_rows import SettledSend
from postroom.work.attention.facts import (
    ApprovalAsked,
    ApprovalGiven,
    Fact,
    MayArriveTwice,
    ReceiptIn,
    Returned,
    SendOutcome,
    Withdrawn,
)
from postroom.work.attention.state import NoticeSend, SendKind
from postroom.work.attention.turn import Turn


def of(turn: Turn, key: str, outcome: SendOutcome) -> Fact:
    return ReceiptIn(at_us=turn.moment_us, send=key, outcome=outcome)


def returned(turn: Turn, key: str, until_us: int) -> Fact:
    return Returned(at_us=turn.moment_us, send=key, until_us=until_us)


@dataclass(frozen=True, slots=True)
class Receipts:
    ended: Sequence[SettledSend]

    def __call__(self, turn: Turn) -> Iterable[Fact]:
        for one in self.ended:
            yield from _receipt(turn, one)


@dataclass(frozen=True, slots=True)
class Twice:
    """Of a send that another way was chosen for, and that could not be taken back any more."""

    key: str

    def __call__(self, turn: Turn) -> Iterable[Fact]:
        send = turn.state.sends[self.key]
        for name in send.notices:
            yield MayArriveTwice(at_us=turn.moment_us, notice=name, send=send.key, channel=send.channel)


def _receipt(turn: Turn, one: SettledSend) -> Iterable[Fact]:
    send = turn.state.sends[one.key]
    if one.status is Status.DELIVERED:
        yield of(turn, one.key, SendOutcome.OK)
    elif one.uncertain:
        yield of(turn, one.key, SendOutcome.UNCERTAIN)
    elif one.withdrawn and send.replaced:
        yield of(turn, one.key, SendOutcome.WITHDRAWN)
    elif (one.withdrawn or one.refused) and send.kind in (SendKind.NOTICE, SendKind.DIGEST):
        yield from _given_up(turn, send, withdrawn=one.withdrawn)
    else:
        yield of(turn, one.key, SendOutcome.FAILED)


def _given_up(turn: Turn, send: NoticeSend, *, withdrawn: bool) -> Iterable[Fact]:
    """It was never sent, and a person or its sender said that it should not be: it takes no other way."""
    at = turn.moment_us
    yield returned(turn, send.key, at)
    for name in send.notices:
        if withdrawn:
            yield Withdrawn(at_us=at, agent=turn.state.notices[name].notice.agent, notice=name)
        else:
            yield ApprovalAsked(at_us=at, notice=name)
            yield ApprovalGiven(at_us=at, notice=name, approved=False)
