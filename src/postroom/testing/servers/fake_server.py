"""A listening socket whose conversations a test can end in every bad way."""

from __future__ import annotations

import asyncio
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self


class FakeServer(ABC):
    """
    Counts connections, and lets a test wait for what it needs to see.

    `arrived` is set when a message (or whatever part of it the script lets
    through) has been read; a held answer goes out once `release` is set.
    """

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.arrived = asyncio.Event()
        self.release = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @abstractmethod
    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if task := asyncio.current_task():
            self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self.converse(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    @staticmethod
    def reset(writer: asyncio.StreamWriter) -> None:
        """A TCP reset rather than a polite end."""
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    @staticmethod
    async def hang() -> None:
        await asyncio.Event().wait()


class FakeProvider(FakeServer):
    """A server that plays a script and keeps what it was given."""

    @abstractmethod
    def behave(self, script: Any, *then: Any) -> None:
        """What to do from now on: one step for each message, and the last one again and again."""

    @property
    @abstractmethod
    def messages(self) -> Sequence[Any]:
        """Complete messages read so far, whatever was answered."""

    @property
    def taken(self) -> int:
        return len(self.messages)

    @property
    def asked_aside(self) -> int:
        """Requests that were no message."""
        return 0


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
