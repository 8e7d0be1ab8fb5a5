"""The simplest simulation: every event is decided among all there ever was. The real one must say the same."""

from __future__ import annotations

from collections.abc import Iterable

from postroom.attention.model import Decision
from postroom.attention.rules.decide import decide
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.simulate import SimulatedRun
from postroom.attention.state import AttentionState, Fact, PolicyChanged, ReceiptIn, SendOutcome


def simulate_whole(
    facts: Iterable[Fact], book: PolicyBook, *, state: AttentionState, until_us: int, receipts: bool = True
) -> SimulatedRun:
    run = _Whole(state, book, receipts=receipts)
    for fact in sorted(facts, key=lambda one: one.at_us):
        run.to(fact.at_us)
        run.take(fact)
    run.to(until_us)
    return SimulatedRun(state=run.state, events=tuple(run.events))


class _Whole:
    def __init__(self, state: AttentionState, book: PolicyBook, *, receipts: bool) -> None:
        self.state, self.book, self.now_us, self.receipts = state, book, state.clock_us, receipts
        self.events: list[Fact | Decision] = []
        self.next_us = self.judge()

    def to(self, moment_us: int) -> None:
        while self.next_us is not None and self.next_us <= moment_us:
            self.now_us = self.next_us
            self.next_us = self.judge()

    def take(self, fact: Fact) -> None:
        self.now_us = max(self.now_us, fact.at_us)
        if isinstance(fact, PolicyChanged):
            self.book = self.book.with_own(self.state.person, fact.policy)
        self.fold(fact)
        self.next_us = self.judge()

    def judge(self) -> int | None:
        decisions, next_us = decide(self.state, self.book, self.now_us)
        for decision in decisions:
            self.fold(decision)
        waiting = [one for one in self.state.sends.values() if one.pending and not one.replaced]
        arriving = [one for one in waiting if self.receipts and one.channel not in self.state.down]
        for send in arriving:
            self.fold(ReceiptIn(at_us=self.now_us, send=send.key, outcome=SendOutcome.OK))
        return self.judge() if arriving else next_us

    def fold(self, event: Fact | Decision) -> None:
        self.events.append(event)
        self.state = fold(self.state, event)
