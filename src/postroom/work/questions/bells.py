"""Those who wait for a question are woken when it changes, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from postroom.domain.question import Question
from postroom.system.signal import Signal


class Bells:
    """
    `every` rings with each change, for those who look after all questions.

    Of those who wait one leads: it looks for what other processes committed, on behalf of all. `position` is how far
    it has looked, None before its first look. As long as this process `hears_others`, that is a precaution only.
    """

    def __init__(self, hears_others: Callable[[], bool] = lambda: False) -> None:
        self.hears_others = hears_others
        self.every = Signal()
        self.position: int | None = None
        self._of: dict[str, tuple[Signal, int]] = {}
        self._leader: object = None
        self._also: list[Callable[[Question], None]] = []

    def also(self, call: Callable[[Question], None]) -> None:
        """For those who look after what questions are about."""
        self._also.append(call)

    @property
    def is_closed(self) -> bool:
        return self.every.is_closed

    @contextmanager
    def listening(self, question_id: str) -> Iterator[Signal]:
        if not self._of:
            self.position = None
        signal, listeners = self._of.get(question_id, (Signal(), 0))
        self._of[question_id] = (signal, listeners + 1)
        try:
            yield signal
        finally:
            _, listeners = self._of.pop(question_id)
            if listeners > 1:
                self._of[question_id] = (signal, listeners - 1)

    def leads(self, who: object) -> bool:
        """Whether it leads; it does from now on if no other does."""
        self._leader = self._leader or who
        return self._leader is who

    @contextmanager
    def resigning(self, who: object) -> Iterator[None]:
        """If it led until then, one of those who still wait is woken, and leads."""
        try:
            yield
        finally:
            if self._leader is who:
                self._leader = None
                for signal, _ in list(self._of.values())[:1]:
                    signal.ring()

    def ring(self, question: Question) -> None:
        self.ring_for(question.id)
        self.every.ring()
        for call in self._also:
            call(question)

    def ring_elsewhere(self, question_id: str | None) -> None:
        """Another process committed a change of this one; None: of some, and they are not known."""
        if question_id is None:
            self.ring_for_all()
        else:
            self.ring_for(question_id)
        self.every.ring()

    def ring_for(self, question_id: str) -> None:
        if listened := self._of.get(question_id):
            listened[0].ring()

    def ring_for_all(self) -> None:
        for signal, _ in self._of.values():
            signal.ring()

    def close(self) -> None:
        """The house is stopping: those who wait look once more and wait no longer."""
        self.every.close()
        for signal, _ in self._of.values():
            signal.close()
