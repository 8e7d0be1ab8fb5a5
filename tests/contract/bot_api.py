"""A scriptable Bot API over a real socket."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from tests.contract.connection import FakeProvider


class Trouble(Enum):
    RESET_BEFORE_READING = auto()
    READ_THEN_HANG = auto()
    READ_THEN_RESET = auto()
    READ_THEN_CLOSE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    raw: bytes
    hold: bool = False
    close: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    body: dict[str, Any]


def reply(status: int, told: object, *, headers: str = "", hold: bool = False, close: bool = False) -> Reply:
    return raw_reply(status, json.dumps(told).encode(), headers=headers, hold=hold, close=close)


def raw_reply(status: int, content: bytes, *, headers: str = "", hold: bool = False, close: bool = False) -> Reply:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
    return Reply(raw=head.encode() + content, hold=hold, close=close)


def accepted(message_id: int = 77, *, hold: bool = False, close: bool = False) -> Reply:
    return reply(200, {"ok": True, "result": {"message_id": message_id}}, hold=hold, close=close)


def refused(status: int, description: str, *, headers: str = "", **more: object) -> Reply:
    told = {"ok": False, "error_code": status, "description": description, **more}
    return reply(status, told, headers=headers)


class BotApi(FakeProvider):
    """Plays its script, one step for each request; the last step repeats."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[Reply | Trouble] = [accepted()]
        self.requests: list[Request] = []

    def behave(self, script: Reply | Trouble, *then: Reply | Trouble) -> None:
        self.script = [script, *then]

    @property
    def taken(self) -> int:
        return len(self.requests)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.script[0] is Trouble.RESET_BEFORE_READING:
            await reader.readexactly(1)  # so that the client surely has begun to write
            self.reset(writer)
            return
        while True:
            self.requests.append(await _read_request(reader))
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            self.arrived.set()
            if not await self._answer(step, writer):
                return

    async def _answer(self, step: Reply | Trouble, writer: asyncio.StreamWriter) -> bool:
        """Whether the conversation goes on."""
        match step:
            case Reply(raw=raw, hold=hold, close=close):
                if hold:
                    await self.release.wait()
                writer.write(raw)
                await writer.drain()
                return not close
            case Trouble.READ_THEN_HANG:
                await self.hang()
            case Trouble.READ_THEN_RESET:
                self.reset(writer)
            case _:
                writer.close()
        return False


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method=method, path=path, body=json.loads(body or b"{}"))
