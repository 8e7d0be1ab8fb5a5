"""The same decisions on a clock that is not real: what was, what would have been, and what will be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

from postroom.attention.model import Decision
from postroom.attention.neighbourhood import Neighbourhood
from postroom.attention.rules.decide import decided
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.state import AttentionState, Fact, PolicyChanged, ReceiptIn, SendOutcome
from postroom.kernel.values.ids import seconds

LONGEST_US: Final = seconds(400 * 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
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
) -> SimulatedRun:
    """
    Fold the facts in the order of their moments, decide after each one and whenever something is due. What is due at
    the very moment of a fact comes before it.

    `receipts`: what is sent arrives at once while its channel is up. Without it only receipts among the facts count,
    which is how a recorded log is replayed. It ends when nothing is due any more, or at `until_us`.
    """
    clock = _VirtualClock(state, book, receipts=receipts)
    for fact in sorted(facts, key=lambda one: one.at_us):
        clock.run_to(fact.at_us)
        clock.take(fact)
    clock.run_to(until_us if until_us is not None else clock.now_us + LONGEST_US)
    return SimulatedRun(state=clock.state, events=tuple(clock.events))


class _VirtualClock:
    """Each event is decided among those it concerns; a wake too many does no harm, so none is ever cancelled."""

    def __init__(self, state: AttentionState, book: PolicyBook, *, receipts: bool) -> None:
        self.book, self.now_us = book, state.clock_us
        self.events: list[Fact | Decision] = []
        self._kept = Neighbourhood(state)
        self._person, self._receipts = state.person, receipts
        self._wakes: list[tuple[int, tuple[str, ...]]] = []
        if state.notices:
            self._judge(self._kept.unsettled)

    @property
    def state(self) -> AttentionState:
        return self._kept.whole

    def run_to(self, moment_us: int) -> None:
        """Everything that is due by that moment."""
        while self._wakes and self._wakes[0][0] <= moment_us:
            self.now_us = self._wakes[0][0]
            due: dict[str, None] = {}
            while self._wakes and self._wakes[0][0] == self.now_us:
                due |= dict.fromkeys(heappop(self._wakes)[1])
            self._judge([name for name in due if name in self._kept.unsettled])

    def take(self, fact: Fact) -> None:
        self.now_us = max(self.now_us, fact.at_us)
        if isinstance(fact, PolicyChanged):
            self.book = changed(self.book, self._person, fact)
        self._judge(self._fold(fact))

    def _judge(self, names: Iterable[str]) -> None:
        around = self._kept.around(names, self.book.rules(self._person), self.now_us)
        decisions, next_us, after = decided(around, self.book, self.now_us)
        self.events += decisions
        self._kept.keep(after)
        if next_us is not None:
            heappush(self._wakes, (next_us, tuple(name for name in around.notices if name in self._kept.unsettled)))
        if self._receipts and (arrived := self._arrivals()):
            self._judge(arrived)

    def _arrivals(self) -> dict[str, None]:
        """The notices of what arrives now."""
        waiting = [self._kept.send(key) for key in self._kept.pending]
        arriving = [one for one in waiting if not one.replaced and not self._kept.is_down(one.channel)]
        concerned: dict[str, None] = {}
        for send in arriving:
            concerned |= self._fold(ReceiptIn(at_us=self.now_us, send=send.key, outcome=SendOutcome.OK))
        return concerned

    def _fold(self, event: Fact) -> dict[str, None]:
        self.events.append(event)
        return {name: None for name in self._kept.take(event) if self._kept.knows(name)}


def changed(book: PolicyBook, person: str, fact: PolicyChanged) -> PolicyBook:
    others = {name: policy for name, policy in book.people.items() if name != person}
    return replace(book, people={**others, person: fact.policy} if fact.policy is not None else others)
