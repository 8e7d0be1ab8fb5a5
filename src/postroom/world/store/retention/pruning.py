"""Prune a household: small transactions with rests between them, so that deliveries hardly notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeVar

from sqlalchemy import Connection

from postroom.domain.retention import Retention
from postroom.domain.upload import UPLOAD_LIFE_US
from postroom.world.store.engine.database import Database
from postroom.world.store.files.uploads import kept_among
from postroom.world.store.retention import deliveries as prune_deliveries
from postroom.world.store.retention.records import STALE, UPLOADS, Stale

DELIVERIES: Final = "deliveries"
FILES: Final = "files"
_AT_ONCE: Final = 500
_RESTS: Final = 2.0  # for every second of work
_LEAST: Final = 25  # fewer would hardly be shorter: a transaction has its price
_LONG_SECONDS, _SHORT_SECONDS = 0.020, 0.008
Result = TypeVar("Result")


class PrunedFiles(Protocol):
    async def kept_before(self, before_us: int) -> Sequence[str]: ...

    async def remove(self, sha: str, before_us: int) -> bool: ...

    async def remove_drafts(self, before_us: int) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruner:
    """
    Interrupted at any moment, it has done whole batches and nothing by half.

    A batch is as large as some ten milliseconds allow, on this machine and at this
    hour, and is followed by a rest twice as long: nobody waits for the past for
    longer than a moment, and the ledger is busy with it for a third of the time.
    """

    database: Database
    batch: int  # at most
    tell: Callable[[str, int], None]
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    files: PrunedFiles | None = None

    async def estimate(self, keep: Retention) -> dict[str, int]:
        """How much would go, by kind; changes nothing."""
        read = self.database.read
        counts = {DELIVERIES: await read(lambda c: prune_deliveries.count(c, keep.settled_before_us))}
        for stale in (*STALE, UPLOADS):
            counts[stale.name] = await read(partial(stale.count, retention=keep))
        return counts | {FILES: len(await self._orphans(keep.now_us - UPLOAD_LIFE_US))}

    async def prune(self, keep: Retention) -> dict[str, int]:
        done = {DELIVERIES: await self._deliveries(keep)}
        for stale in (*STALE, UPLOADS):
            done[stale.name] = await self._records(stale, keep)
        return done | {FILES: await self._files(keep.now_us - UPLOAD_LIFE_US)}

    async def _deliveries(self, keep: Retention) -> int:
        total, place, size = 0, prune_deliveries.START, min(_LEAST, self.batch)
        while True:
            work = partial(prune_deliveries.remove, settled_before_us=keep.settled_before_us, limit=size, after=place)
            removed, took = await self._batch(work)
            total, size = total + removed.deliveries, fitting(size, took, self.batch)
            self.tell(DELIVERIES, removed.deliveries)
            if removed.place is None:
                return total
            place = removed.place

    async def _records(self, stale: Stale, keep: Retention) -> int:
        total, size = 0, min(_LEAST, self.batch)
        while True:
            removed, took = await self._batch(partial(stale.remove, retention=keep, limit=size))
            if not removed:
                return total
            total, size = total + removed, fitting(size, took, self.batch)
            self.tell(stale.name, removed)

    async def _files(self, before_us: int) -> int:
        """Last of all, and only what no row names; a file that was stored a moment ago may still get its row."""
        if self.files is None:
            return 0
        await self.files.remove_drafts(before_us)
        removed = 0
        for sha in await self._orphans(before_us):
            if not await self.database.read(partial(kept_among, hashes=[sha])):
                removed += await self.files.remove(sha, before_us)
        self.tell(FILES, removed)
        return removed

    async def _orphans(self, before_us: int) -> list[str]:
        there = await self.files.kept_before(before_us) if self.files else []
        orphans: list[str] = []
        for start in range(0, len(there), _AT_ONCE):
            some = there[start : start + _AT_ONCE]
            needed = await self.database.read(partial(kept_among, hashes=some))
            orphans += [sha for sha in some if sha not in needed]
        return orphans

    async def _batch(self, work: Callable[[Connection], Result]) -> tuple[Result, float]:
        began = time.perf_counter()
        result = await self.database.write(work)
        took = time.perf_counter() - began
        await self.rest(_RESTS * took)
        return result, took


def fitting(size: int, took_seconds: float, most: int) -> int:
    """The size of the next batch, from how long this one took."""
    if took_seconds > _LONG_SECONDS:
        return max(min(_LEAST, most), size // 2)
    return min(most, size * 2) if took_seconds < _SHORT_SECONDS else size
