"""An HTTP server whose answers arrive a few bytes at a time, as they may from any network."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Final

from tests.contract.connection import Listener

_TURNS: Final = 4  # of the event loop, in which the client takes what has reached its socket


class Piecemeal(Listener):
    """Gives the next of its documents to each request; the last one repeats."""

    def __init__(self, *documents: object, status: int = 200, piece_bytes: int = 7, chunked: bool = False) -> None:
        super().__init__()
        self._documents = [json.dumps(document).encode() for document in documents]
        self._status = status
        self._piece_bytes = piece_bytes
        self._chunked = chunked
        self.pieces = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            await _read_request(reader)
            body = self._documents.pop(0) if len(self._documents) > 1 else self._documents[0]
            raw = self._answer(body)
            for place in range(0, len(raw), self._piece_bytes):
                await self._send(writer, raw[place : place + self._piece_bytes])

    def _answer(self, body: bytes) -> bytes:
        length = "Transfer-Encoding: chunked" if self._chunked else f"Content-Length: {len(body)}"
        head = f"HTTP/1.1 {self._status} X\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode()
        if not self._chunked:
            return head + body
        middle = len(body) // 2
        return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:middle], body[middle:], b""))

    async def _send(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        writer.write(piece)
        await writer.drain()
        self.pieces += 1
        for _ in range(_TURNS):
            await asyncio.sleep(0)


async def _read_request(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").lower()
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    await reader.readexactly(int(headers.get("content-length", "0")))
