"""Group commit: many callers, one statement, no timer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from postroom.domain.errors import StoreUnavailable

Item = TypeVar("Item")
Result = TypeVar("Result")


class Coalescer(Generic[Item, Result]):
    """
    Flushes whatever is waiting as soon as the flush before it has returned.

    A lone caller pays one round trip; a crowd shares it. `flush` answers in the
    order it was asked. When the store is away, everyone in that batch learns it;
    any other failure may be the fault of one of them, so each is tried alone.
    """

    def __init__(self, flush: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], *, most: int = 500) -> None:
        self._flush = flush
        self._most = most
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._flushing: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_until_empty())
        return await future

    async def _flush_until_empty(self) -> None:
        while self._waiting:
            await self._answer([self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))])

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
