"""Keeps the board up to date: looks at what is open, and again with every event."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from postroom.programs.desk.asks.asked import Ask
from postroom.programs.desk.asks.board import Board
from postroom.programs.desk.asks.household import AskingHousehold, Away, NotServed
from postroom.programs.desk.asks.only_one import OnlyOne

logger = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 1.0  # the household ends a stream now and then
_LONGEST_SECONDS: Final = 30.0
_NOT_SERVED_SECONDS: Final = 60.0
_OTHER_DESK_SECONDS: Final = 5.0


def pause_seconds(failures: int) -> float:
    """Doubling, so that a household that is away for long is not asked all the time."""
    longest: float = min(2.0 ** min(failures - 1, 10), _LONGEST_SECONDS)
    return longest


class AskListener:
    """`forget` hears of every question that is no longer open."""

    def __init__(
        self, household: AskingHousehold, board: Board, clock: Clock, only_one: OnlyOne, forget: Callable[[str], None]
    ) -> None:
        self._household = household
        self._board = board
        self._clock = clock
        self._only_one = only_one
        self._forget = forget
        self._failures = 0
        self._complaint = ""

    async def look(self) -> int:
        """Listens until the stream ends; when to do so again. What was on the board stays while nothing is known."""
        return self._clock.now_us() + seconds(await self._listen())

    async def _listen(self) -> float:
        if not self._only_one.take():
            return _OTHER_DESK_SECONDS
        try:
            await self._follow()
        except Away:
            self._failures += 1
            self._complain("the household does not answer; its questions are shown here when it does")
            return pause_seconds(self._failures)
        except NotServed as refusal:
            self._put([])
            self._complain(f"the household's questions cannot be shown here: {refusal}")
            return _NOT_SERVED_SECONDS
        return _AGAIN_SECONDS

    async def _follow(self) -> None:
        async with self._household.news() as news:
            await self._look()
            self._failures, self._complaint = 0, ""
            async for _ in news:
                await self._look()

    async def _look(self) -> None:
        self._put(await self._household.open_asks())

    def _put(self, asks: list[Ask]) -> None:
        for gone in self._board.put(asks):
            self._forget(gone)

    def _complain(self, complaint: str) -> None:
        """Once, not at every try."""
        if complaint != self._complaint:
            logger.warning("%s", complaint)
        self._complaint = complaint
