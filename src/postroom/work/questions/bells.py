"""Those who wait for a question are woken when it changes, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from postroom.domain.question import Question
from postroom.system.signal import Signal


class Bells:
    """`every` rings with each change, for those who look after all questions."""

    def __init__(self) -> None:
        self.every = Signal()
        self._of: dict[str, tuple[Signal, int]] = {}
        self._also: list[Callable[[Question], None]] = []

    def also(self, call: Callable[[Question], None]) -> None:
        """For those who look after what questions are about."""
        self._also.append(call)

    @property
    def is_closed(self) -> bool:
        return self.every.is_closed

    @contextmanager
    def listening(self, question_id: str) -> Iterator[Signal]:
        signal, listeners = self._of.get(question_id, (Signal(), 0))
        self._of[question_id] = (signal, listeners + 1)
        try:
            yield signal
        finally:
            _, listeners = self._of.pop(question_id)
            if listeners > 1:
                self._of[question_id] = (signal, listeners - 1)

    def ring(self, question: Question) -> None:
        if listened := self._of.get(question.id):
            listened[0].ring()
        self.every.ring()
        for call in self._also:
            call(question)

    def close(self) -> None:
        """The house is stopping: those who wait look once more and wait no longer."""
        self.every.close()
        for signal, _ in self._of.values():
            signal.close()
