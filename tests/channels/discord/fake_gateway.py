"""A Discord of the tests' own, by its documentation: the REST answers a script gives, and a Gateway a test steers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web
from tests.patience import PATIENCE_SECONDS


@dataclass(slots=True)
class Line:
    """One connection, as the server sees it: what the client sent, and what to send or do next."""

    socket: web.WebSocketResponse
    query: dict[str, str]
    received: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    acknowledges: bool = True

    async def next(self, op: int) -> dict[str, Any]:
        """The next frame of that kind; heartbeats in between are passed over."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (frame := await self.received.get())["op"] != op:
                pass
        return frame

    async def send(self, op: int, d: Any = None, **more: Any) -> None:
        await self.socket.send_str(json.dumps({"op": op, "d": d, "s": None, "t": None} | more))

    async def dispatch(self, name: str, d: dict[str, Any], s: int) -> None:
        await self.send(0, d, s=s, t=name)

    async def ready(self, url: str, s: int = 1) -> None:
        await self.dispatch(
            "READY", {"v": 10, "user": {"id": "900"}, "session_id": "s1", "resume_gateway_url": url, "guilds": []}, s
        )

    async def message(self, number: int, s: int) -> None:
        told = {"id": str(number), "channel_id": "55", "type": 0, "author": {"id": "7"}, "content": f"text {number}"}
        await self.dispatch("MESSAGE_CREATE", told, s)

    def cut(self) -> None:
        transport = self.socket._req.transport if self.socket._req else None
        assert transport is not None
        transport.abort()


class FakeDiscord:
    def __init__(self, heartbeat_seconds: float = 30.0) -> None:
        self.heartbeat_seconds = heartbeat_seconds
        self.lines: asyncio.Queue[Line] = asyncio.Queue()
        self.starts = 0
        self.sessions_left = 999
        self.greets = True
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.answers: list[tuple[int, Any]] = []
        self.limits: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_get("/api/v10/gateway/bot", self._start)
        application.router.add_get("/gateway", self._gateway)
        application.router.add_get("/resume", self._gateway)
        application.router.add_route("*", "/api/v10/{rest:.*}", self._rest)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v10"

    @property
    def resume_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/resume"

    async def line(self) -> Line:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.lines.get()

    async def _start(self, request: web.Request) -> web.Response:
        self.starts += 1
        limit = {"total": 1000, "remaining": self.sessions_left, "reset_after": 14_400_000, "max_concurrency": 1}
        url = f"ws://127.0.0.1:{self.port}/gateway"
        return web.json_response({"url": url, "shards": 1, "session_start_limit": limit})

    async def _rest(self, request: web.Request) -> web.Response:
        content = await request.read()
        body = json.loads(content) if content else None
        self.requests.append((request.method, request.rel_url.raw_path, dict(request.headers), body))
        status, told = self.answers.pop(0) if self.answers else (404, {"code": 0, "message": "404: Not Found"})
        if told is None:
            return web.Response(status=status, headers=self.limits)
        return web.json_response(told, status=status, headers=self.limits)

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        line = Line(socket=socket, query={**request.query, "path": request.path})
        if self.greets:
            await line.send(10, {"heartbeat_interval": self.heartbeat_seconds * 1000})
        self.lines.put_nowait(line)
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            frame = json.loads(message.data)
            line.received.put_nowait(frame)
            if frame["op"] == 1 and line.acknowledges:
                await line.send(11)
        line.closed.set()
        return socket
