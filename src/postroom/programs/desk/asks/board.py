"""Which questions are open, and which of them this desk shows next."""

from __future__ import annotations

from collections.abc import Iterable

from postroom.programs.desk.asks.asked import Ask
from postroom.system.signal import Signal


class Board:
    """A question that was put aside stays so until its wording changes."""

    def __init__(self) -> None:
        self.changed = Signal()
        self._open: dict[str, Ask] = {}
        self._aside: dict[str, int] = {}

    def put(self, asks: Iterable[Ask]) -> set[str]:
        """All that are open now, the oldest first; answers with those that no longer are."""
        before, self._open = set(self._open), {ask.id: ask for ask in asks}
        self._aside = {id: revision for id, revision in self._aside.items() if id in self._open}
        self.changed.ring()
        return before - set(self._open)

    def next(self) -> Ask | None:
        return next((ask for ask in self._open.values() if self._aside.get(ask.id) != ask.revision), None)

    def holds(self, ask: Ask) -> bool:
        """Still open, in these words."""
        held = self._open.get(ask.id)
        return held is not None and held.revision == ask.revision

    def put_aside(self, ask: Ask) -> None:
        self._aside[ask.id] = ask.revision
