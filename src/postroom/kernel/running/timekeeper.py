"""The one loop that hands what is due to its slice, and not before what people sent in time has been read."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import structlog

from postroom.kernel.database.engine import Marks
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.kernel.values.moments import Due, DueMoment, has_read, pause_seconds, waits_until

LOOK_SECONDS: Final = 0.5  # how soon what another process set is known here; nothing is due earlier than that
LEASE_SECONDS: Final = 15.0  # renewed for as long as somebody is at it
GAP_SECONDS: Final = 120.0  # no channel is known to keep a press for longer than 150 seconds
_AT_ONCE: Final = 32  # so many of a kind, or a few more, so that what takes long holds up no other
_ASLEEP_SECONDS: Final = 30.0
_OUTAGE_PAUSE_SECONDS: Final = 0.5
_GRACE_SECONDS: Final = 3.0
_NOTE_SECONDS: Final = 2.0
_log = structlog.get_logger("postroom.timekeeper")

Act = Callable[[Due], Awaitable[int | None]]
"""
Decides by the slice's rules and writes it; again without harm. Answers when to come back, None when that was all.

What its slice writes about the moment meanwhile counts more than the answer.
"""
ShownOn = Callable[[str], Awaitable[Collection[str]]]  # channels on which people may have answered; by the id


@dataclass(frozen=True, slots=True)
class _Kept:
    act: Act
    shown_on: ShownOn | None
    tasks: dict[DueMoment, asyncio.Task[None]] = field(default_factory=dict)


class Timekeeper:
    """
    One for each process, for the kinds that its slices gave it: claim with lease and fence, hand over, put off.

    A process that dies loses its leases; the next one takes its moments up. What fails keeps its distance.
    """

    def __init__(self, moments: StoredMoments, marks: Marks, clock: Clock) -> None:
        self.moments = moments
        self.wake = Signal()
        self.listening = Listening(marks, moments, clock, self.wake.ring)
        self._clock = clock
        self._kinds: dict[str, _Kept] = {}
        self._awake_us = self._awake_since_us = self._renewed_us = 0

    def keep(self, kind: str, act: Act, shown_on: ShownOn | None = None) -> None:
        self._kinds[kind] = _Kept(act, shown_on)
        self.wake.ring()

    @asynccontextmanager
    async def keeping(self, kind: str, act: Act, shown_on: ShownOn | None = None) -> AsyncIterator[None]:
        """What is begun is let end, for a moment; what is cut short is taken up by the next process."""
        await self.moments.let_go(kind, self._clock.now_us())
        self.keep(kind, act, shown_on)
        try:
            yield
        finally:
            kept = self._kinds.pop(kind)
            if kept.tasks:
                await asyncio.wait(set(kept.tasks.values()), timeout=_GRACE_SECONDS)
            for task in kept.tasks.values():
                task.cancel()

    async def look(self) -> int:
        """One round; answers when the next is due, unless it is woken before."""
        now_us = self._clock.now_us()
        self._stay_awake(now_us)
        lease_us = now_us + seconds(LEASE_SECONDS)
        await self._renew(now_us, lease_us)
        free = [kind for kind, kept in self._kinds.items() if len(kept.tasks) < _AT_ONCE]
        next_us, later_us = await self.moments.first(free), now_us + seconds(LOOK_SECONDS)
        if next_us is None or next_us > now_us:
            return min(next_us or later_us, later_us)
        taken = await self.moments.take(free, now_us, lease_until_us=lease_us, limit=_AT_ONCE)
        for moment in taken:
            if kept := self._kinds.get(moment.kind):  # a slice may have stopped meanwhile: the lease ends by itself
                self._begin(kept, moment)
        return now_us if len(taken) == _AT_ONCE else later_us

    async def idle(self) -> None:
        """Until nothing is in hand; for tests and for stopping."""
        while tasks := [task for kept in self._kinds.values() for task in kept.tasks.values()]:
            await asyncio.wait(tasks)

    def _begin(self, kept: _Kept, moment: DueMoment) -> None:
        task = asyncio.create_task(self._work(kept, moment))
        kept.tasks[moment] = task
        task.add_done_callback(lambda _: self._ended(kept, moment))

    def _ended(self, kept: _Kept, moment: DueMoment) -> None:
        if len(kept.tasks) >= _AT_ONCE:
            self.wake.ring()
        del kept.tasks[moment]

    async def _work(self, kept: _Kept, moment: DueMoment) -> None:
        """What cannot be written down here comes back when its lease has run out."""
        with suppress(StoreUnavailable):
            try:
                again_us = await self._handed_over(kept, moment)
            except StoreUnavailable:  # no fault of the moment's, so it costs no try
                pause_us = self._clock.now_us() + seconds(_OUTAGE_PAUSE_SECONDS)
                await self.moments.later(moment, pause_us, tries=moment.tries)
            except Exception as error:
                failures = moment.tries + 1
                _log.error("moment.failed", kind=moment.kind, id=moment.id, error=type(error).__name__)
                pause_us = self._clock.now_us() + seconds(pause_seconds(failures))
                await self.moments.later(moment, pause_us, tries=failures)
            else:
                await (self.moments.done(moment) if again_us is None else self.moments.later(moment, again_us))

    async def _handed_over(self, kept: _Kept, moment: DueMoment) -> int | None:
        now_us, caught_up = self._clock.now_us(), True
        if kept.shown_on is not None and moment.reason.is_for_want_of_an_answer:
            read_us = await self.listening.caught_up(await kept.shown_on(moment.id))
            again_us = waits_until(moment, now_us, read_us, self._awake_since_us)
            if again_us is not None:
                return again_us
            caught_up = has_read(moment, read_us)
        return await kept.act(Due(moment=moment, now_us=now_us, caught_up=caught_up))

    async def _renew(self, now_us: int, lease_us: int) -> None:
        held = [moment for kept in self._kinds.values() for moment in kept.tasks]
        if held and now_us - self._renewed_us >= seconds(LEASE_SECONDS / 3):
            self._renewed_us = now_us
            await self.moments.renew(held, lease_us)

    def _stay_awake(self, now_us: int) -> None:
        """Asked every half a second, unless the household was down, or its machine asleep."""
        if now_us - self._awake_us > seconds(_ASLEEP_SECONDS):
            self._awake_since_us = now_us
        self._awake_us = now_us


# ---- how far what people sent has been read, and for how long we did not listen ----

_Repair = Callable[[str, int, int], Awaitable[None]]  # channel, from when, until when


class Listening:
    """
    Told of every look into a channel, by whoever listens there; others read in the marks how far that has come.

    Nothing ends before what was sent in time has been read, so a look that would last beyond a deadline is cut short.
    After a gap what repairs it is called once; the mark moves on only afterwards.
    """

    def __init__(self, marks: Marks, moments: StoredMoments, clock: Clock, caught_up: Callable[[], None]) -> None:
        self._marks = marks
        self._moments = moments
        self._clock = clock
        self._tell = caught_up
        self._is_awaited = False
        self._repairs: list[_Repair] = []
        self._read_until: dict[str, int] = {}
        self._heard_at: dict[str, int] = {}
        self._noted_at: dict[str, int] = {}

    def expect(self, channel: str) -> None:
        """It is listened to from now on; until the first look nothing is known of it."""
        self._read_until.setdefault(channel, 0)

    def after_a_gap(self, repair: _Repair) -> None:
        self._repairs.append(repair)

    async def caught_up(self, channels: Collection[str]) -> int | None:
        """Until when everything has been read on these; None when nobody ever listened there."""
        self._is_awaited = True
        found = [await self._read_on(one) for one in channels]
        return min((one for one in found if one is not None), default=None)

    async def _read_on(self, channel: str) -> int | None:
        if channel in self._read_until:
            return self._read_until[channel]
        return await self._marks.offset(_read(channel))

    async def patience(self, channel: str, longest_seconds: float) -> float:
        """How long the next look may wait for something to come: the first one not at all, so that a gap is known."""
        if channel not in self._heard_at:
            await self._begin(channel)
            return 0
        due_us = await self._moments.next_end(self._read_until.get(channel, 0))
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
        if everything:
            self._read_until[channel] = began_us
        await self._note(channel, self._clock.now_us())
        if everything and self._is_awaited:  # else nothing is due that could wait for it
            self._is_awaited = False
            self._tell()

    async def _begin(self, channel: str) -> None:
        """From the first look ever people can press buttons, so a gap may begin during it."""
        if await self._marks.offset(_mark(channel)) is None:
            await self._marks.save_offset(_mark(channel), self._clock.now_us())

    async def _note(self, channel: str, now_us: int) -> None:
        self._heard_at[channel] = now_us
        if now_us - self._noted_at.get(channel, 0) >= seconds(_NOTE_SECONDS):
            await self._marks.save_offset(_mark(channel), now_us)
            await self._marks.save_offset(_read(channel), self._read_until.get(channel, 0))
            self._noted_at[channel] = now_us


def _mark(channel: str) -> str:
    return f"{channel}:listened"


def _read(channel: str) -> str:
    return f"{channel}:read"
