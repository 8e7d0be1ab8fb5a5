"""An HTTP server that plays a script over a real socket."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Self

# A listening socket whose conversations a test can end in every bad way.


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


# Answers of an HTTP server, written out to the last byte so that a script can spoil any of them.


class Trouble(Enum):
    """Instead of an answer."""

    RESET_BEFORE_READING = auto()
    READ_THEN_HANG = auto()
    READ_THEN_RESET = auto()
    READ_THEN_CLOSE = auto()
    REDIRECT = auto()  # to the same server by another name of this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    `hold`: not before the test releases it. `early`: after the headers, before the body has been read.

    `piece_bytes` with `pause_seconds`: in pieces of this size, so long apart.
    """

    raw: bytes
    hold: bool = False
    close: bool = False
    early: bool = False
    piece_bytes: int = 0
    pause_seconds: float = 0.0


def reply(status: int, told: object, *, headers: str = "", hold: bool = False, close: bool = False) -> Reply:
    return raw_reply(status, json.dumps(told).encode(), headers=headers, hold=hold, close=close)


def raw_reply(status: int, content: bytes, *, headers: str = "", hold: bool = False, close: bool = False) -> Reply:
    """`headers` are whole lines, each ending in CRLF."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
    return Reply(raw=head.encode() + content, hold=hold, close=close)


def with_header(answer: Reply, line: str) -> Reply:
    head, _, content = answer.raw.partition(b"\r\n\r\n")
    return replace(answer, raw=head + b"\r\n" + line.encode() + b"\r\n\r\n" + content)


def with_length(answer: Reply, length: int) -> Reply:
    """The same content under a length that is not its own."""
    head, _, content = answer.raw.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
    return replace(answer, raw=b"\r\n".join([*lines, b"Content-Length: %d" % length]) + b"\r\n\r\n" + content)


def content_of(answer: Reply) -> bytes:
    return answer.raw.partition(b"\r\n\r\n")[2]


def cut_in_head(answer: Reply) -> Reply:
    head = answer.raw.partition(b"\r\n\r\n")[0]
    return replace(answer, raw=head[: len(head) * 2 // 3], close=True)


def cut_in_content(answer: Reply) -> Reply:
    content = content_of(answer) or b" "
    return replace(answer, raw=answer.raw[: -max(len(content) // 2, 1)], close=True)


def old_protocol(answer: Reply) -> Reply:
    """As HTTP/1.0 did it: the end of the connection is the end of the answer."""
    status = answer.raw.split(b" ", 2)[1]
    return replace(answer, raw=b"HTTP/1.0 %b X\r\n\r\n%b" % (status, content_of(answer)), close=True)


def after_early_hints(answer: Reply) -> Reply:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    return replace(answer, raw=hints + answer.raw)


@lru_cache(maxsize=32)
def swollen(answer: Reply, extra_bytes: int) -> Reply:
    """A small answer on the wire that unpacks to a huge one, with what matters at its end."""
    packed = gzip.compress(b" " * extra_bytes + content_of(answer))
    status = int(answer.raw.split(b" ", 2)[1])
    return raw_reply(status, packed, headers="Content-Encoding: gzip\r\n", close=True)


# Read one HTTP request as a server sees it, byte by byte.


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRequest:
    """What a channel sent; header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes = field(default=b"", repr=False)

    @property
    def body(self) -> Any:
        """Of a request in JSON."""
        return json.loads(self.content or b"{}")


async def read_head(reader: asyncio.StreamReader) -> TakenRequest:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ")
    pairs = (line.split(":", 1) for line in lines[1:] if line)
    return TakenRequest(method=method, path=path, headers={name.lower(): value.strip() for name, value in pairs})


async def read_request(reader: asyncio.StreamReader) -> TakenRequest:
    head = await read_head(reader)
    return await _with_content(head, reader)


async def _with_content(head: TakenRequest, reader: asyncio.StreamReader) -> TakenRequest:
    if head.headers.get("transfer-encoding", "").lower() == "chunked":
        content = await _chunks(reader)
    else:
        content = await reader.readexactly(int(head.headers.get("content-length", "0")))
    return TakenRequest(method=head.method, path=head.path, headers=head.headers, content=content)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    collected = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        collected += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return bytes(collected)


# Write bytes a few at a time, as a network may bring them.

_TURNS: Final = 4  # of the event loop, in which the client takes what has reached its socket


async def write_pieces(writer: asyncio.StreamWriter, raw: bytes, piece_bytes: int, pause_seconds: float = 0.0) -> int:
    """How many pieces there were."""
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    starts = range(0, len(raw), piece_bytes)
    for place in starts:
        writer.write(raw[place : place + piece_bytes])
        await writer.drain()
        if len(starts) > 1:
            await _let_them_arrive(pause_seconds)
    return len(starts)


async def _let_them_arrive(pause_seconds: float) -> None:
    if pause_seconds:
        await asyncio.sleep(pause_seconds)
    for _ in range(_TURNS):
        await asyncio.sleep(0)


# A server that plays a script of such answers.

Aside = Callable[[TakenRequest], Reply | None]
HttpStep = Reply | Trouble


class HttpProvider(FakeProvider):
    """
    Plays one step for each message; the last step repeats.

    `aside` answers what is no message (opening a conversation, reading back): that is neither counted nor scripted.
    Where a step comes before the content it is asked with the head alone.
    """

    def __init__(self, *script: HttpStep, aside: Aside | None = None) -> None:
        super().__init__()
        self.script: list[HttpStep] = list(script) or [raw_reply(200, b"{}")]
        self.requests: list[TakenRequest] = []
        self.asides: list[TakenRequest] = []
        self.aside = aside

    def behave(self, script: HttpStep, *then: HttpStep) -> None:
        self.script = [script, *then]

    @property
    def messages(self) -> list[TakenRequest]:
        return self.requests

    @property
    def asked_aside(self) -> int:
        return len(self.asides)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.script[0] is Trouble.RESET_BEFORE_READING and self.aside is None:
            await reader.readexactly(1)  # so that the client surely has begun to write
            self._reset_at_once(writer)
            return
        while await self._exchange(reader, writer):
            pass

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the conversation goes on."""
        head = await read_head(reader)
        step = self.script[0]
        if step is Trouble.RESET_BEFORE_READING and not self._is_aside(head):
            self._reset_at_once(writer)
            return False
        if early := isinstance(step, Reply) and step.early and not self._is_aside(head):
            await self._write(step, writer)
        request = await _with_content(head, reader)
        if self.aside is not None and (answer := self.aside(request)) is not None:
            self.asides.append(request)
            return await self._write(answer, writer)
        self.requests.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.arrived.set()
        return early or await self._play(step, writer)

    def _reset_at_once(self, writer: asyncio.StreamWriter) -> None:
        self.arrived.set()
        self.reset(writer)

    def _is_aside(self, head: TakenRequest) -> bool:
        return self.aside is not None and self.aside(head) is not None

    async def _play(self, step: HttpStep, writer: asyncio.StreamWriter) -> bool:
        match step:
            case Reply():
                return await self._write(step, writer)
            case Trouble.REDIRECT:
                where = f"Location: http://localhost:{self.port}/elsewhere\r\n"
                return await self._write(raw_reply(307, b"", headers=where), writer)
            case Trouble.READ_THEN_HANG:
                await self.hang()
            case Trouble.READ_THEN_RESET:
                self.reset(writer)
            case _:
                writer.close()
        return False

    async def _write(self, answer: Reply, writer: asyncio.StreamWriter) -> bool:
        if answer.hold:
            await self.release.wait()
        await write_pieces(writer, answer.raw, answer.piece_bytes or len(answer.raw), answer.pause_seconds)
        return not answer.close


# A WebSocket server that says what a test wants, and cuts or closes the line when it wants.


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
