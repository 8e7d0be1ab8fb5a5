"""How far what people sent has been read, and for how long we did not listen."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from postroom.domain.clock import Clock
from postroom.domain.time import SECOND_US, seconds

GAP_SECONDS: Final = 120.0  # no channel is known to keep a press for longer than 150 seconds
_NOTE_SECONDS: Final = 10.0


class Marks(Protocol):
    async def offset(self, source: str) -> int | None: ...

    async def save_offset(self, source: str, position: int) -> None: ...


class QuestionAgenda(Protocol):
    async def next_due(self, after_us: int) -> int | None:
        """When the first question after that moment is to be reminded of, escalated or ended."""
        ...


Repair = Callable[[str, int, int], Awaitable[None]]  # channel, from when, until when
CaughtUp = Callable[[], None]


class Listening:
    """
    Told of every look into a channel.

    Nothing ends before what was sent in time has been read, so a look that would last beyond a deadline is cut short.
    After a gap what repairs it is called once; the mark moves on only afterwards.
    """

    def __init__(self, marks: Marks, agenda: QuestionAgenda, clock: Clock, caught_up: CaughtUp) -> None:
        self._marks = marks
        self._agenda = agenda
        self._clock = clock
        self._tell = caught_up
        self._repairs: list[Repair] = []
        self._read_until: dict[str, int] = {}
        self._heard_at: dict[str, int] = {}
        self._noted_at: dict[str, int] = {}

    def expect(self, channel: str) -> None:
        """It is listened to from now on; until the first look nothing is known of it."""
        self._read_until.setdefault(channel, 0)

    def after_a_gap(self, repair: Repair) -> None:
        self._repairs.append(repair)

    def caught_up(self) -> int | None:
        """Until when everything has been read on every channel; None when none is listened to."""
        return min(self._read_until.values(), default=None)

    async def patience(self, channel: str, longest_seconds: float) -> float:
        """How long the next look may wait for something to come: the first one not at all, so that a gap is known."""
        if channel not in self._heard_at:
            await self._begin(channel)
            return 0
        due_us = await self._agenda.next_due(self._read_until.get(channel, 0))
        if due_us is None:
            return longest_seconds
        left = math.ceil((due_us - self._clock.now_us()) / SECOND_US)
        return min(longest_seconds, max(0, left))

    async def looked(self, channel: str, began_us: int, *, everything: bool) -> None:
        """A look that began then is over, and what it brought has been heard."""
        last_us = self._heard_at.get(channel) or await self._marks.offset(_mark(channel))
        if last_us is not None and began_us - last_us > seconds(GAP_SECONDS):
            for repair in self._repairs:
                await repair(channel, last_us, began_us)
        await self._note(channel, self._clock.now_us())
        if everything:
            self._read_until[channel] = began_us
            self._tell()

    async def _begin(self, channel: str) -> None:
        """From the first look ever people can press buttons, so a gap may begin during it."""
        if await self._marks.offset(_mark(channel)) is None:
            await self._marks.save_offset(_mark(channel), self._clock.now_us())

    async def _note(self, channel: str, now_us: int) -> None:
        self._heard_at[channel] = now_us
        if now_us - self._noted_at.get(channel, 0) >= seconds(_NOTE_SECONDS):
            await self._marks.save_offset(_mark(channel), now_us)
            self._noted_at[channel] = now_us


def _mark(channel: str) -> str:
    return f"{channel}:listened"
