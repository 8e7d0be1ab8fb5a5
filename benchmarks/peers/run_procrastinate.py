"""Procrastinate as its documentation advises: batch_defer, an async task, a concurrent worker with LISTEN/NOTIFY."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from procrastinate import App, PsycopgConnector

from benchmarks.peers.child import PAYLOAD, Queue, run

_CONCURRENCY = 50


@asynccontextmanager
async def opened(url: str, sent: Callable[[int], None]) -> AsyncIterator[Queue]:
    app = App(connector=PsycopgConnector(conninfo=url, min_size=4, max_size=20))

    @app.task(name="notify")
    async def notify(number: int, payload: str) -> None:
        sent(number)

    async def submit(numbers: Sequence[int]) -> None:
        await notify.batch_defer_async(*({"number": number, "payload": PAYLOAD} for number in numbers))

    async def left() -> int:
        asked = "SELECT count(*) AS jobs FROM procrastinate_jobs WHERE status <> 'succeeded'"
        return int((await app.connector.execute_query_one_async(asked))["jobs"])

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        working = asyncio.create_task(
            app.run_worker_async(concurrency=_CONCURRENCY, install_signal_handlers=False, listen_notify=True)
        )
        yield Queue(submit=submit, left=left)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


if __name__ == "__main__":
    run(opened)
