"""The one loop all background work runs on: a round that fails is logged, counted, paused over and shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import seconds, to_text

# A wake-up for everyone who looks and then waits for more: nothing that comes in between is missed.


class Signal:
    def __init__(self) -> None:
        self._news = asyncio.Event()
        self.is_closed = False

    def news(self) -> asyncio.Event:
        """Set by the next ring: take it before looking at what there is, wait for it afterwards, take another."""
        return self._news

    def ring(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def close(self) -> None:
        """The house is stopping: those who wait look once more and wait no longer."""
        self.is_closed = True
        self.ring()


class UnhurriedSignal:
    """A signal for who is in no hurry: it is rung a moment after the first of those who ring, once for all of them."""

    def __init__(self, clock: Clock, moment_seconds: float) -> None:
        self.signal = Signal()
        self._clock = clock
        self._moment_us = seconds(moment_seconds)
        self._is_near = False

    def ring(self) -> None:
        if not self._is_near:
            self._is_near = True
            self._clock.ring(self._clock.now_us() + self._moment_us, self._now)

    def _now(self) -> None:
        self._is_near = False
        self.signal.ring()


class FileMark:
    """A signal for the other processes of a home, at the price of looking at a file's time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen_ns = 0

    def touch(self) -> None:
        with suppress(OSError):  # what cannot be said here is found by the others' next look
            self._path.touch()

    def was_touched(self) -> bool:
        """Since this was asked last."""
        try:
            at_ns = self._path.stat().st_mtime_ns
        except OSError:
            return False
        before, self._seen_ns = self._seen_ns, at_ns
        return at_ns != before


_OUTAGE_PAUSE_SECONDS: Final = 0.5
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 15.0
_MOMENT_SECONDS: Final = 30.0  # for so long the store may be away without anybody being alarmed
_log = structlog.get_logger("postroom.loop")

Look = Callable[[], Awaitable[int | None]]  # one round; when to look next, None for only when woken
Count = Callable[[str, str], None]  # a failure of a loop, by its name and the error's kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTrouble:
    """Rounds of a loop that failed in a row. The kind of an error is all that is told: its text may quote a message."""

    loop: str
    kind: str
    is_outage: bool  # of the store
    since_us: int
    failures: int = 1


def worsened(before: LoopTrouble | None, now: LoopTrouble) -> LoopTrouble:
    return replace(now, since_us=before.since_us, failures=before.failures + 1) if before else now


def pause_seconds(trouble: LoopTrouble) -> float:
    if trouble.is_outage:
        return _OUTAGE_PAUSE_SECONDS
    doubled: float = _FIRST_PAUSE_SECONDS * 2.0 ** min(trouble.failures - 1, 10)
    return min(doubled, _LONGEST_PAUSE_SECONDS)


def _kind_of(error: BaseException) -> str:
    """Of what it began with: a driver's error says more than the three it is wrapped in."""
    while error.__cause__ is not None:
        error = error.__cause__
    return type(error).__name__


class Loop:
    """
    Looks, waits until the moment that look named or until it is woken, and looks again.

    News is taken before a look, so what happens during one is seen by the next.
    Nothing but stopping shortens the pause after a failure, and nothing but stopping ends it.
    """

    def __init__(
        self,
        name: str,
        look: Look,
        clock: Clock,
        count: Count,
        *,
        wake: Signal | None = None,
        stopping: asyncio.Event | None = None,
    ) -> None:
        self.name = name
        self.look = look
        self.wake = wake or Signal()
        self.trouble: LoopTrouble | None = None
        self._clock = clock
        self._count = count
        self._stopping = stopping or asyncio.Event()

    async def run(self) -> None:
        while not self._stopping.is_set():
            event = self.wake.news()
            try:
                until_us = await self.look()
            except Exception as error:
                event, until_us = self._stopping, self._failed(error)
            else:
                self._recovered()
            await self._clock.wait(event, until_us)

    def stop(self) -> None:
        self._stopping.set()
        self.wake.ring()

    def _failed(self, error: Exception) -> int:
        """When to try again."""
        now_us, before = self._clock.now_us(), self.trouble
        trouble = LoopTrouble(
            loop=self.name, kind=_kind_of(error), is_outage=isinstance(error, StoreUnavailable), since_us=now_us
        )
        if not trouble.is_outage:
            self._count(self.name, trouble.kind)
            if before is None or before.kind != trouble.kind:
                _log.error("loop.failed", loop=self.name, kind=trouble.kind, exc_info=error)
        self.trouble = worsened(before, trouble)
        return now_us + seconds(pause_seconds(self.trouble))

    def _recovered(self) -> None:
        if self.trouble is not None and not self.trouble.is_outage:
            _log.info("loop.recovered", loop=self.name, failures=self.trouble.failures)
        self.trouble = None


class Loops:
    """Every loop of one process, so that its health can be told."""

    def __init__(self, clock: Clock, count: Count) -> None:
        self.all: list[Loop] = []
        self.clock = clock
        self._count = count

    @asynccontextmanager
    async def running(
        self,
        name: str,
        look: Look,
        *,
        wake: Signal | None = None,
        stopping: asyncio.Event | None = None,
        cut_off: bool = False,
    ) -> AsyncIterator[Loop]:
        """Lets the last look end, unless it may be `cut_off` because it waits for long and loses nothing."""
        loop = Loop(name, look, self.clock, self._count, wake=wake, stopping=stopping)
        self.all.append(loop)
        task = asyncio.create_task(loop.run())
        try:
            yield loop
        finally:
            loop.stop()
            self.all.remove(loop)
            await _end(task, cut_off=cut_off)

    def troubles(self) -> list[LoopTrouble]:
        """All there are just now."""
        return [loop.trouble for loop in self.all if loop.trouble is not None]

    def failing(self) -> list[LoopTrouble]:
        """An outage of the store counts when it has lasted longer than a moment."""
        alarming_us = self.clock.now_us() - seconds(_MOMENT_SECONDS)
        return [one for one in self.troubles() if not one.is_outage or one.since_us <= alarming_us]


async def _end(task: asyncio.Task[None], *, cut_off: bool) -> None:
    if not cut_off:
        await task
        return
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


# What `/health` says of a part: up, and whether its process does all of its background work.

Failing = Callable[[], Sequence[LoopTrouble]]  # the loops of this process that fail just now


def part_health(part: str, failing: Sequence[LoopTrouble], household: str) -> dict[str, Any]:
    """Served without a token, so it names kinds of errors and never their texts."""
    about = {"part": part, "household": household}
    if not failing:
        return {"status": "ok", **about}
    loops = [
        {"loop": one.loop, "error": one.kind, "since": to_text(one.since_us), "failures": one.failures}
        for one in failing
    ]
    return {"status": "degraded", **about, "loops": loops}


# What reads a long text does so beside the event loop: nobody else's call waits for it.

LONG: Final = 1_000  # characters; shorter ones take some ten milliseconds at most, whatever stands in them
_READER: Final = ThreadPoolExecutor(1, "long-texts")  # one at a time: more would only share the processor
Made = TypeVar("Made")


async def beside_if_long(characters: int, work: Callable[[], Made]) -> Made:
    if characters < LONG:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_READER, work)
