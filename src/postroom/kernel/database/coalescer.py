"""Group commit: many callers, one statement, and nobody in a hurry waits for a timer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from postroom.kernel.values.errors import StoreUnavailable

Item = TypeVar("Item")
Result = TypeVar("Result")
_SMALLEST_HALF = 64  # a statement costs as much as fifteen of its rows


class Coalescer(Generic[Item, Result]):
    """
    Flushes whatever is waiting as soon as the flush before it has returned.

    A lone caller pays one round trip; a crowd shares it. `flush` answers in the
    order it was asked. When the store is away, everyone in that batch learns it;
    any other failure may be the fault of one of them, so each is tried alone.

    `by_halves` is for a store that works beside us and not in our interpreter: a
    crowd is written in parts, so that those who have been answered go on while the
    others are written. All at once, we would only ever wait for each other.
    """

    def __init__(
        self,
        flush: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        *,
        most: int = 500,
        by_halves: bool = False,
    ) -> None:
        self._flush = flush
        self._most = most
        self._by_halves = by_halves
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._flushing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # asking for it costs a call of the system

    async def submit(self, item: Item) -> Result:
        return await self.put(item)

    def put(self, item: Item) -> asyncio.Future[Result]:
        """For whoever has something else to do meanwhile: it takes no task to wait in."""
        self._loop = self._loop or asyncio.get_running_loop()
        future: asyncio.Future[Result] = self._loop.create_future()
        self._waiting.append((item, future))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_while_any_wait())
        return future

    async def _flush_while_any_wait(self) -> None:
        while waiting := len(self._waiting):
            share = max(_SMALLEST_HALF, waiting // 2) if self._by_halves else waiting
            await self._answer([self._waiting.popleft() for _ in range(min(waiting, share, self._most))])

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._flush([item for item, _ in batch])
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, StoreUnavailable):
                for one in batch:
                    await self._answer([one])
                return
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
