"""PgQueuer as its documentation advises for throughput: batched enqueue, asyncpg, a large dequeue batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import asyncpg
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from benchmarks.peers.child import PAYLOAD, Queue, run

_BATCH = 200


@asynccontextmanager
async def opened(url: str, sent: Callable[[int], None]) -> AsyncIterator[Queue]:
    async with asyncpg.create_pool(url, min_size=2, max_size=20) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        await queries.install()
        manager = QueueManager(queries)

        @manager.entrypoint("notify")
        async def notify(job: Job) -> None:
            sent(int((job.payload or b"").split(b" ", 1)[0]))

        async def submit(numbers: Sequence[int]) -> None:
            payloads: list[bytes | None] = [f"{number} {PAYLOAD}".encode() for number in numbers]
            await queries.enqueue(["notify"] * len(payloads), payloads, [0] * len(payloads))

        async def left() -> int:
            return int(await pool.fetchval("SELECT count(*) FROM pgqueuer"))

        working = asyncio.create_task(manager.run(batch_size=_BATCH))
        yield Queue(submit=submit, left=left)
        manager.shutdown.set()
        await working


if __name__ == "__main__":
    run(opened)
