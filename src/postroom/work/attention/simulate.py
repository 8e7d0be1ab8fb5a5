"""The same decisions on a clock that is not real: what was, what would have been, and what will be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from postroom.domain.time import seconds
from postroom.work.attention.decide import decide
from postroom.work.attention.decisions import Decision
from postroom.work.attention.facts import Fact, PolicyChanged, ReceiptIn, SendOutcome
from postroom.work.attention.fold import fold
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.state import AttentionState

LONGEST_US: Final = seconds(400 * 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`events`: facts and decisions as they were folded; `state`: what they came to."""

    state: AttentionState
    events: tuple[Fact | Decision, ...]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(event for event in self.events if isinstance(event, Decision))


def simulate(
    facts: Iterable[Fact],
    book: PolicyBook,
    *,
    state: AttentionState,
    until_us: int | None = None,
    receipts: bool = True,
) -> Run:
    """
    Fold the facts in the order of their moments, decide after each one and whenever something is due. What is due at
    the very moment of a fact comes before it.

    `receipts`: what is sent arrives at once while its channel is up. Without it only receipts among the facts count,
    which is how a recorded log is replayed. It ends when nothing is due any more, or at `until_us`.
    """
    clock = _VirtualClock(state, book, receipts=receipts)
    for fact in sorted(facts, key=lambda one: one.at_us):
        clock.run_to(fact.at_us, inclusive=True)
        clock.take(fact)
    clock.run_to(until_us if until_us is not None else clock.now_us + LONGEST_US, inclusive=True)
    return Run(state=clock.state, events=tuple(clock.events))


class _VirtualClock:
    def __init__(self, state: AttentionState, book: PolicyBook, *, receipts: bool) -> None:
        self.state, self.book, self.now_us = state, book, state.clock_us
        self.events: list[Fact | Decision] = []
        self._receipts = receipts
        self._next_us = self._judge() if state.notices else None

    def run_to(self, moment_us: int, *, inclusive: bool = False) -> None:
        """Everything that is due before that moment; `inclusive`: at it as well."""
        while self._next_us is not None and self._next_us < moment_us + inclusive:
            self.now_us = self._next_us
            self._next_us = self._judge()

    def take(self, fact: Fact) -> None:
        self.now_us = max(self.now_us, fact.at_us)
        if isinstance(fact, PolicyChanged):
            self.book = changed(self.book, self.state.person, fact)
        self._fold(fact)
        self._next_us = self._judge()

    def _judge(self) -> int | None:
        decisions, next_us = decide(self.state, self.book, self.now_us)
        for decision in decisions:
            self._fold(decision)
        if self._receipts and self._arrivals():
            return self._judge()
        return next_us

    def _arrivals(self) -> bool:
        waiting = [one for one in self.state.sends.values() if one.pending and not one.replaced]
        arriving = [one for one in waiting if one.channel not in self.state.down]
        for send in arriving:
            self._fold(ReceiptIn(at_us=self.now_us, send=send.key, outcome=SendOutcome.OK))
        return bool(arriving)

    def _fold(self, event: Fact | Decision) -> None:
        self.events.append(event)
        self.state = fold(self.state, event)


def changed(book: PolicyBook, person: str, fact: PolicyChanged) -> PolicyBook:
    others = {name: policy for name, policy in book.people.items() if name != person}
    return replace(book, people={**others, person: fact.policy} if fact.policy is not None else others)
