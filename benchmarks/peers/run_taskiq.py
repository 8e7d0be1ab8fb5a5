"""Taskiq on a Redis stream, acknowledged after the result is saved, a hundred tasks at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from redis.asyncio import Redis
from taskiq.api import run_receiver_task
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from benchmarks.peers.child import PAYLOAD, Queue, run

_CONCURRENCY = 100


@asynccontextmanager
async def opened(url: str, sent: Callable[[int], None]) -> AsyncIterator[Queue]:
    results: RedisAsyncResultBackend[None] = RedisAsyncResultBackend(url, result_ex_time=600)
    broker = RedisStreamBroker(url, max_connection_pool_size=150).with_result_backend(results)
    redis = Redis.from_url(url)

    @broker.task(task_name="notify")
    async def notify(number: int, payload: str) -> None:
        sent(number)

    async def submit(numbers: Sequence[int]) -> None:
        await asyncio.gather(*(notify.kiq(number, PAYLOAD) for number in numbers))

    async def left() -> int:
        """Acknowledged means that the result is there."""
        [group] = await redis.xinfo_groups("taskiq")
        return int(group["pending"]) + int(group["lag"] or 0)

    await broker.startup()
    working = asyncio.create_task(
        run_receiver_task(broker, max_async_tasks=_CONCURRENCY, max_prefetch=_CONCURRENCY, validate_params=False)
    )
    yield Queue(submit=submit, left=left)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    await broker.shutdown()
    await redis.aclose()


if __name__ == "__main__":
    run(opened)
