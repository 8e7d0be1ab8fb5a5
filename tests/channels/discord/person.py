"""A person who writes to a Discord bot and presses its buttons, as the Gateway tells of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from postroom.message.channel import Channel
from postroom.testing import HttpProvider, Place, Reply, TakenRequest, WebSocketProvider, raw_reply, reply

PERSON = "53908232506183680"
DIRECT = "290926798999357250"
BOT = "900000000000000001"
OTHER_BOT = "900000000000000002"
FIRST = 334385199974967000
STARTS = {"total": 1000, "remaining": 999, "reset_after": 14_400_000, "max_concurrency": 1}


class DiscordPerson:
    """What happens while nobody is connected waits for the first session; each event is brought once."""

    sender = f"user:{PERSON}"
    acknowledged = 0

    def __init__(self, web: HttpProvider, sockets: WebSocketProvider, connect: Callable[[Place], Channel]) -> None:
        self._web, self._sockets, self._connect = web, sockets, connect
        self._events: list[tuple[str, dict[str, Any]]] = []
        self._is_ready = False
        self._is_away = False
        web.aside = self._answer
        sockets.opening = [_frame(10, {"heartbeat_interval": 41_250})]

    def connect(self) -> Any:
        return self._connect(Place(port=self._web.port))

    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        author = {"id": OTHER_BOT, "username": "ada", "bot": True} if by_bot else {"id": PERSON, "username": "ada"}
        told: dict[str, Any] = {
            "id": self._number(),
            "channel_id": DIRECT,
            "type": 0,
            "author": author,
            "content": text,
        }
        if forged:
            told["message_reference"] = {"type": 1, "message_id": "17", "channel_id": "18"}
            told["message_snapshots"] = [{"message": {"content": "words of another"}}]
        await self._bring("MESSAGE_CREATE", told)

    async def press(self, token: str) -> None:
        told = {
            "id": self._number(),
            "type": 3,
            "token": "canary-interaction-token",
            "context": 1,
            "channel_id": DIRECT,
            "channel": {"id": DIRECT, "type": 1},
            "user": {"id": PERSON, "username": "ada"},
            "message": {"id": "77"},
            "data": {"component_type": 2, "custom_id": token},
        }
        await self._bring("INTERACTION_CREATE", told)

    async def show_again(self) -> None:
        await self._say(len(self._events))

    async def leave(self) -> None:
        self._is_away = True
        self._sockets.cut()

    async def serve(self) -> None:
        while True:
            frame = json.loads(await self._sockets.hear())
            match frame["op"]:
                case 1:  # a heartbeat
                    await self._sockets.say(_frame(11))
                case 2:  # a new session
                    await self._begin()
                case 6:  # one that is taken up again
                    await self._bring_after(frame["d"]["seq"])

    async def _begin(self) -> None:
        told = {"v": 10, "user": {"id": BOT}, "session_id": "s1", "resume_gateway_url": self._sockets.url, "guilds": []}
        await self._sockets.say(_frame(0, told, t="READY", s=0))
        await self._bring_after(0)

    async def _bring_after(self, sequence: int) -> None:
        self._is_ready = True
        for number in range(sequence + 1, len(self._events) + 1):
            await self._say(number)

    async def _bring(self, name: str, told: dict[str, Any]) -> None:
        self._events.append((name, told))
        if self._is_ready:
            await self._say(len(self._events))

    async def _say(self, number: int) -> None:
        name, told = self._events[number - 1]
        await self._sockets.say(_frame(0, told, t=name, s=number))

    def _number(self) -> str:
        return str(FIRST + len(self._events))

    def _answer(self, request: TakenRequest) -> Reply | None:
        if self._is_away:
            return raw_reply(503, b"later")
        return reply(200, {"url": self._sockets.url, "shards": 1, "session_start_limit": STARTS})


def person_on(connect: Callable[[Place], Channel]) -> Callable[[], Any]:
    @asynccontextmanager
    async def person() -> AsyncIterator[DiscordPerson]:
        async with HttpProvider() as web, WebSocketProvider() as sockets:
            one = DiscordPerson(web, sockets, connect)
            serving = asyncio.create_task(one.serve())
            try:
                yield one
            finally:
                serving.cancel()

    return person


def _frame(op: int, told: Any = None, *, t: str | None = None, s: int | None = None) -> str:
    return json.dumps({"op": op, "d": told, "s": s, "t": t})
