"""Hear what other processes did: LISTEN, reconnecting for as long as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import asyncpg
import structlog

from postroom.domain.errors import StoreUnavailable
from postroom.domain.ids import DeliveryId
from postroom.store.ledger_postgres import PENDING_CHANNEL, SETTLED_CHANNEL
from postroom.store.postgres import UNREACHABLE, PostgresDatabase

_PAUSE_SECONDS = 0.5
_PROBE_SECONDS = 10.0
_POLL_SECONDS = 1.0

_log = structlog.get_logger(__name__)

OnPending = Callable[[], None]
OnSettled = Callable[[list[DeliveryId] | None], Awaitable[None]]


@asynccontextmanager
async def listening(database: PostgresDatabase, pending: OnPending, settled: OnSettled) -> AsyncIterator[None]:
    """`settled(None)` means: some notices may have been missed, look at everything you wait for."""
    task = asyncio.create_task(_listen_forever(database, pending, settled))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def polling(pending: OnPending, settled: OnSettled) -> AsyncIterator[None]:
    """Where nothing can be heard, looks every second: later than a notice, and more work for the database."""

    async def poll() -> None:
        while True:
            pending()
            try:
                await settled(None)
            except StoreUnavailable:
                pass
            except Exception as error:
                _tell(error)
            await asyncio.sleep(_POLL_SECONDS)

    task = asyncio.create_task(poll())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _listen_forever(database: PostgresDatabase, pending: OnPending, settled: OnSettled) -> None:
    while True:
        try:
            await _listen(database, pending, settled)
        except (StoreUnavailable, *UNREACHABLE):
            await asyncio.sleep(_PAUSE_SECONDS)
        except Exception as error:
            _tell(error)
            await asyncio.sleep(_POLL_SECONDS)


async def _listen(database: PostgresDatabase, pending: OnPending, settled: OnSettled) -> None:
    connection = await database.connect()
    heard: asyncio.Queue[list[DeliveryId] | None] = asyncio.Queue()

    def on_pending(*_: object) -> None:
        pending()

    def on_settled(_connection: object, _process: int, _channel: str, payload: object) -> None:
        heard.put_nowait([DeliveryId(one) for one in str(payload).split()])

    connection.add_termination_listener(lambda _: heard.put_nowait(None))
    try:
        await connection.add_listener(PENDING_CHANNEL, on_pending)
        await connection.add_listener(SETTLED_CHANNEL, on_settled)
        pending()
        await settled(None)
        while (ids := await _next(heard, connection)) is not None:
            await settled(ids)
    finally:
        connection.terminate()


async def _next(
    heard: asyncio.Queue[list[DeliveryId] | None], connection: asyncpg.Connection[asyncpg.Record]
) -> list[DeliveryId] | None:
    """
    What was heard, or None when the connection is gone.

    A quiet connection is asked now and then whether it still is one: a network can
    fall silent without a word.
    """
    while True:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                return await heard.get()
        except TimeoutError:
            await connection.fetchval("SELECT 1", timeout=_PROBE_SECONDS)


def _tell(error: Exception) -> None:
    """Whatever it was: one who stops listening hears nothing for as long as the process lives."""
    _log.error("notices.bug", error=type(error).__name__)
