"""Loops for a test: what fails in them can be looked at."""

from __future__ import annotations

from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.loop import Loops


class CountedLoops(Loops):
    """`errors` are the failures that would be in the figures, as (loop, kind)."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.errors: list[tuple[str, str]] = []
        super().__init__(clock or SystemClock(), lambda loop, kind: self.errors.append((loop, kind)))
