"""A few connections, handed out and back without a task or a timer for each time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_LONGEST_REST_SECONDS = 300.0  # what lies between us and the server may have forgotten an older one


class DatabaseConnections:
    """
    Opened when they are needed, at most so many; whoever finds them all lent out waits in line.

    A short statement costs less than a general pool's ceremony around it. Whoever borrows
    one gives it back, or ends it when it is not certain in what state it is.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        *,
        most: int,
        longest_rest_seconds: float = _LONGEST_REST_SECONDS,
    ) -> None:
        self._connect = connect
        self._most = most
        self._longest_rest_seconds = longest_rest_seconds
        self._free: list[tuple[Connection, float]] = []  # and since when; the last one back goes out first
        self._lent: set[Connection] = set()
        self._opening = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._closed = False

    async def borrow(self) -> Connection:
        while not (connection := self._take()):
            if self._closed:
                raise asyncpg.InterfaceError("the connections are closed")
            if len(self._lent) + self._opening < self._most:
                connection = await self._open()
                break
            await self._wait()
        self._lent.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        self._lent.discard(connection)
        if not connection.is_closed():
            if self._closed or connection.is_in_transaction():
                connection.terminate()
            else:
                self._free.append((connection, _now()))
        self._next()

    async def close(self, seconds: float) -> None:
        """Politely to those that are free; the others have had their time."""
        self._closed = True
        for connection, _ in self._free:
            try:
                await connection.close(timeout=seconds)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection.terminate()
        self._free.clear()
        for connection in self._lent:
            connection.terminate()
        while self._line:
            self._next()

    def _take(self) -> Connection | None:
        while self._free:
            connection, since = self._free.pop()
            if connection.is_closed():
                continue
            if _now() - since <= self._longest_rest_seconds:
                return connection
            connection.terminate()
        return None

    async def _open(self) -> Connection:
        self._opening += 1
        try:
            return await self._connect()
        except BaseException:
            self._next()  # whoever waits may try what we could not
            raise
        finally:
            self._opening -= 1

    async def _wait(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # whoever was to be next may have been looked for in between
                    self._line.remove(turn)
            else:
                self._next()  # it was our turn already: it is somebody else's now
            raise

    def _next(self) -> None:
        while self._line:
            if not (turn := self._line.popleft()).done():
                turn.set_result(None)
                return


def _now() -> float:
    return asyncio.get_running_loop().time()
