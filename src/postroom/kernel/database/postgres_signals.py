"""Hear what other processes did: LISTEN, reconnecting for as long as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from postroom.kernel.database.postgres import AWAY, Connection, PostgresDatabase
from postroom.kernel.database.signals import (
    ATTENTION_CHANNEL,
    PENDING_CHANNEL,
    QUESTIONS_CHANNEL,
    SETTLED_CHANNEL,
    THIS_PROCESS,
    QuestionNotices,
)
from postroom.kernel.running.loop import Loops, Signal
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import DeliveryId, seconds

_PROBE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 1.0
_AT_ONCE: Final = 0

OnPending = Callable[[], None]
OnSettled = Callable[[list[DeliveryId] | None], Awaitable[None]]


@asynccontextmanager
async def listening(
    database: PostgresDatabase,
    questions: QuestionNotices,
    pending: OnPending,
    settled: OnSettled,
    loops: Loops,
    *,
    attention: Signal | None = None,
) -> AsyncIterator[None]:
    """
    `settled(None)` means: some notices may have been missed, look at everything you wait for.

    `attention` rings when another process set a policy or decided what is to be handed over.
    """
    listener = _Listener(database, questions, pending, settled, attention or Signal())
    try:
        async with loops.running("notices", listener.look, cut_off=True):
            yield
    finally:
        listener.hang_up()


@asynccontextmanager
async def polling(pending: OnPending, settled: OnSettled, loops: Loops) -> AsyncIterator[None]:
    """Where nothing can be heard, looks every second: later than a notice, and more work for the database."""

    async def look() -> int:
        pending()
        await settled(None)
        return loops.clock.now_us() + seconds(_POLL_SECONDS)

    async with loops.running("notices", look, cut_off=True):
        yield


class _Listener:
    """Holds one connection for as long as nothing fails, and a new one afterwards."""

    def __init__(
        self,
        database: PostgresDatabase,
        questions: QuestionNotices,
        pending: OnPending,
        settled: OnSettled,
        attention: Signal,
    ) -> None:
        self._database = database
        self._questions = questions
        self._pending = pending
        self._settled = settled
        self._attention = attention
        self._connection: Connection | None = None
        self._heard: asyncio.Queue[list[DeliveryId] | None] = asyncio.Queue()

    async def look(self) -> int:
        """Connects, or waits until something is heard or a quiet connection has proved that it is one."""
        try:
            if self._connection is None:
                await self._connect()
            else:
                await self._hear(self._connection)
        except AWAY as error:
            self.hang_up()
            raise StoreUnavailable(type(error).__name__) from error
        except BaseException:
            self.hang_up()
            raise
        return _AT_ONCE

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._questions.lost()
        self._connection = None

    async def _connect(self) -> None:
        """What was missed meanwhile is looked up."""
        connection = self._connection = await self._database.connect()
        heard = self._heard = asyncio.Queue()

        def on_settled(_connection: object, _process: int, _channel: str, payload: object) -> None:
            heard.put_nowait([DeliveryId(one) for one in str(payload).split()])

        connection.add_termination_listener(lambda _: heard.put_nowait(None))
        await connection.add_listener(PENDING_CHANNEL, lambda *_: self._pending())
        await connection.add_listener(SETTLED_CHANNEL, on_settled)
        await connection.add_listener(QUESTIONS_CHANNEL, lambda *notice: self._questions.heard(str(notice[-1])))
        await connection.add_listener(ATTENTION_CHANNEL, lambda *notice: self._hear_of_attention(str(notice[-1])))
        self._attention.ring()
        self._questions.connected()
        self._pending()
        await self._settled(None)

    def _hear_of_attention(self, process: str) -> None:
        """Our own commits rang when they were made."""
        if process != THIS_PROCESS:
            self._attention.ring()

    async def _hear(self, connection: Connection) -> None:
        """A network can fall silent without a word, so a quiet connection is asked now and then."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                ids = await self._heard.get()
        except TimeoutError:
            await connection.fetchval("SELECT 1", timeout=_PROBE_SECONDS)
            return
        if ids is None:  # the connection is gone
            self.hang_up()
        else:
            await self._settled(ids)
