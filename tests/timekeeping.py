"""The timekeeper, round by round."""

from __future__ import annotations

from postroom.kernel.database.engine import Database, Marks
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.timekeeper import Act, ShownOn, Timekeeper


class Rounds(Timekeeper):
    """Of one process. A round is over when everything it took up is."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(StoredMoments(database), Marks(database), clock)

    async def look(self) -> int:
        next_us = await super().look()
        await self.idle()
        return next_us


def rounds(database: Database, clock: Clock, kind: str, act: Act, shown_on: ShownOn | None = None) -> Rounds:
    made = Rounds(database, clock)
    made.keep(kind, act, shown_on)
    return made
