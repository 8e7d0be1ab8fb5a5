"""A person whose telephone posts to the topic for answers, as an ntfy server tells of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from postroom.message.channel import Channel
from postroom.testing import FakeServer, Place, raw_reply
from postroom.testing.servers.http import read_request

SECOND = 1_772_366_400
OPEN = {"id": "opened", "time": SECOND, "event": "open", "topic": "answers"}
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"


class AnswersTopic(FakeServer):
    """A poll is answered with what is there; a subscription stays open and brings what comes."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[dict[str, Any]] = []
        self.is_away = False
        self._streams: list[asyncio.StreamWriter] = []

    def post(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        for stream in self._streams:
            stream.write(_line(event))

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await read_request(reader)
            old = b"".join(map(_line, self.events))
            if self.is_away:
                writer.write(raw_reply(503, b"later").raw)
            elif "poll=1" in request.path:
                writer.write(raw_reply(200, old).raw)
            else:
                writer.write(STREAM + _line(OPEN) + old)
                self._streams.append(writer)


class NtfyPerson:
    """The topic a card went to is the only name that those who press it have."""

    acknowledged = 0

    def __init__(self, server: AnswersTopic, connect: Callable[[Place], Channel], topic: str) -> None:
        self._server, self._connect = server, connect
        self.sender = topic

    def connect(self) -> Any:
        return self._connect(Place(port=self._server.port))

    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        self._post(text)

    async def press(self, token: str) -> None:
        self._post(f"{token} {self.sender}")

    async def show_again(self) -> None:
        """It does so by itself until it expires."""

    async def leave(self) -> None:
        self._server.is_away = True

    def _post(self, message: str) -> None:
        number = len(self._server.events) + 1
        told = {"id": f"answer{number:06d}", "time": SECOND + number, "event": "message", "topic": "answers"}
        self._server.post({**told, "message": message})


def person_on(connect: Callable[[Place], Channel], topic: str) -> Callable[[], Any]:
    @asynccontextmanager
    async def person() -> AsyncIterator[NtfyPerson]:
        async with AnswersTopic() as server:
            yield NtfyPerson(server, connect, topic)

    return person


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode() + b"\n"
