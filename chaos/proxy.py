"""A TCP proxy that can be told to treat its connections badly, one direction at a time."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

_CHUNK: Final = 65_536
_RESET: Final = struct.pack("ii", 1, 0)  # linger for no time: closing sends RST instead of FIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic:
    """
    What is wrong with one direction of a connection; the default is nothing.

    cut_after_bytes   reset the connection once that many bytes have passed
    black_hole        swallow everything and never close
    instead           swallow what comes and send this once, then close
    """

    latency_seconds: float = 0.0
    bytes_per_second: float | None = None
    slice_bytes: int = _CHUNK
    cut_after_bytes: int | None = None
    black_hole: bool = False
    instead: bytes | None = None


NOTHING: Final = Toxic()


class Proxy:
    """
    `request` and `answer` apply to connections made from then on; `refuse` resets new ones at once.

    `freeze` turns the open connections into black holes, for good: nobody on either side is told.
    """

    def __init__(self, target_port: int, *, host: str = "127.0.0.1") -> None:
        self._host = host
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.request = NOTHING
        self.answer = NOTHING
        self.refuse = False
        self.connections = 0
        self.port = 0
        self._frozen = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.reset_all()

    def reset_all(self) -> None:
        """Every open connection breaks, on both sides."""
        for writer in list(self._writers):
            _reset(writer)
        self._writers.clear()

    def freeze(self) -> None:
        self._frozen.set()
        self._frozen = asyncio.Event()

    def heal(self) -> None:
        self.request, self.answer, self.refuse = NOTHING, NOTHING, False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        if self.refuse:
            _reset(writer)
            return
        with suppress(OSError, asyncio.CancelledError):  # cancelled only when the proxy itself is closed
            await self._relay(reader, writer)
        self._close(writer)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection(self._host, self._target_port)
        self._writers.add(back_writer)
        ways = [
            asyncio.create_task(_carry(reader, back_writer, self.request, self._frozen)),
            asyncio.create_task(_carry(back_reader, writer, self.answer, self._frozen)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._close(back_writer)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        self._writers.discard(writer)
        writer.close()


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, toxic: Toxic, frozen: asyncio.Event
) -> None:
    passed = 0
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            if toxic.black_hole or frozen.is_set():
                continue
            if toxic.instead is not None:
                await _write(writer, toxic.instead, NOTHING)
                return
            await asyncio.sleep(toxic.latency_seconds)
            left = len(data) if toxic.cut_after_bytes is None else toxic.cut_after_bytes - passed
            await _write(writer, data[:left], toxic)
            passed += len(data)
            if toxic.cut_after_bytes is not None and passed >= toxic.cut_after_bytes:
                _reset(writer)
                return


async def _write(writer: asyncio.StreamWriter, data: bytes, toxic: Toxic) -> None:
    for start in range(0, len(data), toxic.slice_bytes):
        piece = data[start : start + toxic.slice_bytes]
        writer.write(piece)
        await writer.drain()
        if toxic.bytes_per_second:
            await asyncio.sleep(len(piece) / toxic.bytes_per_second)


def _reset(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket | None = writer.get_extra_info("socket")
    if connection is not None and not writer.is_closing():
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
