"""DBOS: an async workflow on a queue without limits, which is polled twenty times a second instead of once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import sqlalchemy
from dbos import DBOS

from benchmarks.peers.child import PAYLOAD, Queue, run

_POLL_SECONDS = 0.05
_AT_ONCE = 20


@asynccontextmanager
async def opened(url: str, sent: Callable[[int], None]) -> AsyncIterator[Queue]:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "log_level": "ERROR",
            "sys_db_pool_size": 40,
        }
    )

    @DBOS.workflow(name="notify")
    async def notify(number: int, payload: str) -> None:
        sent(number)

    DBOS.launch()
    await DBOS.register_queue_async("notifications", polling_interval_sec=_POLL_SECONDS)
    gate = asyncio.Semaphore(_AT_ONCE)
    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))

    async def submit_one(number: int) -> None:
        async with gate:
            await DBOS.enqueue_workflow_async("notifications", notify, number, PAYLOAD)

    async def submit(numbers: Sequence[int]) -> None:
        await asyncio.gather(*(submit_one(number) for number in numbers))

    def count() -> int:
        asked = sqlalchemy.text("SELECT count(*) FROM dbos.workflow_status WHERE status <> 'SUCCESS'")
        with engine.connect() as connection:
            return int(connection.execute(asked).scalar_one())

    yield Queue(submit=submit, left=lambda: asyncio.to_thread(count))
    engine.dispose()
    DBOS.destroy()


if __name__ == "__main__":
    run(opened)
