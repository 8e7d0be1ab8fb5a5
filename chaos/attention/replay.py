"""The recorded facts decided once more: simulation must say what really happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from postroom.attention.model import Decision
from postroom.attention.rules.decide import decide
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import AttentionState, Fact, PolicyChanged

Events = Sequence[Fact | Decision]


def otherwise(person: str, events: Events, book: PolicyBook) -> list[str]:
    """
    Where `decide` or `simulate` say something else than the log of one person.

    After every recorded fact, and whenever something was decided by itself, `decide` at that moment must give exactly
    the recorded decisions. What was decided by itself was late when no process was alive, but `simulate` from the
    state before must have foreseen it, and for no later moment.
    """
    others = {name: policy for name, policy in book.people.items() if name != person}
    replay = _Replay(person, replace(book, people=others))  # the person's own is among the facts
    place = 0
    while place < len(events):
        place += replay.turn(events[place:])
    return replay.problems


class _Replay:
    def __init__(self, person: str, book: PolicyBook) -> None:
        self._state, self._book = AttentionState(person=person), book
        self._next_us: int | None = None
        self.problems: list[str] = []

    def turn(self, rest: Events) -> int:
        """One transaction: the facts of one moment, and what was decided then."""
        at_us = rest[0].at_us
        facts = list(takewhile(lambda one: isinstance(one, Fact) and one.at_us == at_us, rest))
        made = list(takewhile(lambda one: isinstance(one, Decision) and one.at_us == at_us, rest[len(facts) :]))
        if not facts:
            self._foreseen(made, at_us)
        for fact in facts:
            self._take(fact)
        decided, self._next_us = decide(self._state, self._book, at_us)
        if list(decided) != made:
            self.problems.append(f"at {at_us} {_words(made)} was decided, and the replay says {_words(decided)}")
        for one in made:
            self._take(one)
        return len(facts) + len(made)

    def _foreseen(self, made: Events, at_us: int) -> None:
        if self._next_us is None or self._next_us > at_us:
            self.problems.append(f"at {at_us} {_words(made)} was decided before its time")
        run = simulate((), self._book, state=self._state, until_us=at_us, receipts=False)
        if sorted(_words(run.decisions)) != sorted(_words(made)):  # what was due one after the other came at once
            self.problems.append(f"at {at_us} {_words(made)} was decided, and foreseen was {_words(run.decisions)}")

    def _take(self, event: Fact | Decision) -> None:
        if isinstance(event, PolicyChanged):
            self._book = self._book.with_own(self._state.person, event.policy)
        self._state = fold(self._state, event)


def _words(decisions: Events) -> list[str]:
    """Which send to whom and where, without the moment."""
    made = [one for one in decisions if isinstance(one, Decision)]
    return [f"{one.kind} of {one.notice} by {one.send} to {one.person} on {one.channel}" for one in made]
