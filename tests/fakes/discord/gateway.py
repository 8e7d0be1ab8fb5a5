"""The Gateway's websocket: greets, lets bots in, answers their heartbeats, takes them up again after a cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from tests.fakes.discord.objects import BOT
from tests.fakes.discord.places import BOT_ID, SERVER_ID
from tests.fakes.discord.sessions import BotSession, BotSessions

PATH: Final = "/discord/gateway"
HEARTBEAT_MILLISECONDS: Final = 41_250
_INVALID, _HELLO, _ACKNOWLEDGED = 9, 10, 11
_GOODBYES: Final = (1000, 1001)


class Farewell(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class GatewayDoor:
    def __init__(self, sessions: BotSessions, stopping: asyncio.Event) -> None:
        self._sessions = sessions
        self._stopping = stopping

    def routes(self) -> list[web.RouteDef]:
        return [web.get(PATH, self.come_in), web.get(f"{PATH}/", self.come_in)]

    async def come_in(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        ending = asyncio.create_task(self._end_with_the_sandbox(socket))
        visit = _Visit(self._sessions, socket, _address(request))
        try:
            await visit.stay()
        except Farewell as farewell:
            visit.leave(for_good=False)
            await socket.close(code=farewell.code)
        finally:
            ending.cancel()
            visit.leave(for_good=socket.close_code in _GOODBYES)
        return socket

    async def _end_with_the_sandbox(self, socket: web.WebSocketResponse) -> None:
        await self._stopping.wait()
        await socket.close(code=1001)


class _Visit:
    """One connection of one bot."""

    def __init__(self, sessions: BotSessions, socket: web.WebSocketResponse, address: str) -> None:
        self._sessions = sessions
        self._socket = socket
        self._address = address
        self._session: BotSession | None = None

    async def stay(self) -> None:
        await self._send(_HELLO, {"heartbeat_interval": HEARTBEAT_MILLISECONDS})
        async for message in self._socket:
            await self._take(json.loads(message.data))

    def leave(self, *, for_good: bool) -> None:
        """A session that has gone on over another connection is left alone."""
        if self._session is not None and self._session.socket is self._socket:
            self._sessions.leave(self._session, for_good=for_good)

    async def _take(self, frame: Mapping[str, Any]) -> None:
        match frame["op"]:
            case 1:  # a heartbeat
                await self._send(_ACKNOWLEDGED, None)
            case 2:
                await self._identify(frame["d"])
            case 6:
                await self._resume(frame["d"])
            case _:
                raise Farewell(4001)

    async def _identify(self, told: Mapping[str, Any]) -> None:
        session = self._session = self._sessions.begin(told["token"], told["intents"])
        session.socket = self._socket
        ready = {
            "v": 10,
            "user": BOT,
            "guilds": [{"id": SERVER_ID, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self._address,
            "application": {"id": BOT_ID, "flags": 0},
        }
        await session.tell("READY", ready)

    async def _resume(self, told: Mapping[str, Any]) -> None:
        session = self._sessions.find(told["session_id"], told["token"])
        if session is None:
            await self._send(_INVALID, False)
            return
        self._session = session
        await session.come_back(self._socket, told["seq"])
        await session.tell("RESUMED", {})

    async def _send(self, op: int, told: object) -> None:
        await self._socket.send_str(json.dumps({"op": op, "d": told, "s": None, "t": None}))


def _address(request: web.Request) -> str:
    return f"ws://{request.host}{PATH}"
