"""A WebSocket server that says what a test wants, and cuts or closes the line when it wants."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from typing import Final

from postroom.testing.servers.http import FakeServer, Reply, TakenRequest, read_head

_ACCEPT_KEY: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA
_NO_CODE: Final = 1005


class WebSocketProvider(FakeServer):
    """
    Says its opening frames to each client, then whatever `say` is given; `hear` waits for the client's next text.

    `refusal` answers the request to upgrade instead. `closed_with` are the codes that clients said goodbye with,
    and `parted` is set by the first.
    """

    def __init__(self, *opening: str, refusal: Reply | None = None) -> None:
        super().__init__()
        self.opening = list(opening)
        self.refusal = refusal
        self.upgrades: list[TakenRequest] = []
        self.closed_with: list[int] = []
        self.joined = asyncio.Event()
        self.parted = asyncio.Event()
        self._heard: asyncio.Queue[str] = asyncio.Queue()
        self._client: asyncio.StreamWriter | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    async def say(self, text: str) -> None:
        await self._frame(_TEXT, text.encode())

    async def ping(self) -> None:
        await self._frame(_PING, b"are you there")

    async def end(self, code: int, reason: str = "") -> None:
        """The polite end, with its code."""
        await self._frame(_CLOSE, struct.pack("!H", code) + reason.encode())

    def cut(self) -> None:
        """A reset, without a word."""
        self.joined.clear()
        if self._client is not None:
            self.reset(self._client)

    async def hear(self) -> str:
        return await self._heard.get()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_head(reader)
        self.upgrades.append(request)
        if self.refusal is not None:
            writer.write(self.refusal.raw)
            return
        writer.write(_welcome(request.headers["sec-websocket-key"]))
        self._client = writer
        for text in self.opening:
            await self.say(text)
        self.joined.set()
        while await self._turn(reader):
            pass
        self.joined.clear()

    async def _turn(self, reader: asyncio.StreamReader) -> bool:
        kind, content = await _read_frame(reader)
        if kind == _CLOSE:
            self.closed_with.append(struct.unpack("!H", content[:2])[0] if content else _NO_CODE)
            self.parted.set()
            await self._frame(_CLOSE, content[:2])
        elif kind == _PING:
            await self._frame(_PONG, content)
        elif kind == _TEXT:
            self._heard.put_nowait(content.decode())
            self.arrived.set()
        return kind != _CLOSE

    async def _frame(self, kind: int, content: bytes) -> None:
        if self._client is None or self._client.is_closing():
            return
        self._client.write(bytes([0x80 | kind]) + _length(len(content)) + content)
        await self._client.drain()


def _welcome(key: str) -> bytes:
    proof = base64.b64encode(hashlib.sha1(key.encode() + _ACCEPT_KEY, usedforsecurity=False).digest())
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    return head + b"Sec-WebSocket-Accept: " + proof + b"\r\n\r\n"


def _length(count: int) -> bytes:
    if count < 126:
        return bytes([count])
    return struct.pack("!BH", 126, count) if count < 65_536 else struct.pack("!BQ", 127, count)


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Clients mask what they say; a message in several frames is not understood."""
    first, second = await reader.readexactly(2)
    count = second & 0x7F
    if count == 126:
        [count] = struct.unpack("!H", await reader.readexactly(2))
    elif count == 127:
        [count] = struct.unpack("!Q", await reader.readexactly(8))
    mask = await reader.readexactly(4)
    content = await reader.readexactly(count)
    return first & 0x0F, bytes(byte ^ mask[place % 4] for place, byte in enumerate(content))
