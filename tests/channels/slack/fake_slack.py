"""A Slack of the tests' own, by Slack's documentation: scripted answers, and a websocket the test speaks through."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

from aiohttp import WSMsgType, web
from tests.patience import PATIENCE_SECONDS

Answer = dict[str, Any]


class FakeSlack:
    """Every call is noted; `answers` says what a method answers, the last one again and again."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.tokens: list[str] = []
        self.answers: dict[str, list[Answer]] = {}
        self.acknowledged: list[str] = []
        self.news = asyncio.Condition()
        self.sockets: list[web.WebSocketResponse] = []
        self.opened = 0
        self._port = 0
        application = web.Application()
        application.router.add_route("*", "/api/{method}", self._call)
        application.router.add_get("/link", self._socket)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/api"

    def called(self, method: str) -> list[dict[str, Any]]:
        return [body for name, body in self.calls if name == method]

    async def push(self, frame: dict[str, Any], socket: int = -1) -> None:
        await self.sockets[socket].send_json(frame)

    async def until(self, reached: Any) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self.news:
            await self.news.wait_for(reached)

    async def connected(self, count: int = 1) -> None:
        await self.until(lambda: self.opened >= count)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for socket in self.sockets:
            await socket.close()
        await self._runner.cleanup()

    async def _call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        body = dict(request.query) if request.method == "GET" else json.loads(await request.read() or b"{}")
        self.calls.append((method, body))
        self.tokens.append(request.headers.get("Authorization", ""))
        script = self.answers.get(method, [])
        answer = script.pop(0) if len(script) > 1 else script[0] if script else self._usual(method)
        return web.json_response(answer)

    def _usual(self, method: str) -> Answer:
        if method == "apps.connections.open":
            return {"ok": True, "url": f"ws://127.0.0.1:{self._port}/link?ticket=canary-ticket"}
        return {"ok": True, "channel": "C1", "ts": "1700000000.000100"}

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
        self.sockets.append(socket)
        self.opened += 1
        await self._tell()
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                self.acknowledged.append(json.loads(message.data)["envelope_id"])
                await self._tell()
        return socket

    async def _tell(self) -> None:
        async with self.news:
            self.news.notify_all()


def envelope(name: str, event: dict[str, Any], **more: Any) -> dict[str, Any]:
    payload = {
        "type": "event_callback",
        "event_id": f"Ev-{event['ts']}",
        "event": event,
        "authorizations": [{"user_id": "UBOT", "is_bot": True}],
    }
    return {"envelope_id": name, "type": "events_api", "accepts_response_payload": False, "payload": payload, **more}


def said(text: str = "Yes", ts: str = "1700000001.000200", **more: Any) -> dict[str, Any]:
    return {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": text, "ts": ts, **more}


def pressed(name: str, value: str | None = "q1:yes", **more: Any) -> dict[str, Any]:
    action = {"type": "button", "action_id": "postroom-0", "block_id": "b", "action_ts": "1700000002.000300"}
    payload = {
        "type": "block_actions",
        "user": {"id": "U1", "username": "ada", "team_id": "T1"},
        "container": {"type": "message", "message_ts": "1700000000.000100", "channel_id": "D1"},
        "channel": {"id": "D1", "name": "directmessage"},
        "message": {"type": "message", "ts": "1700000000.000100"},
        "actions": [action | ({"value": value} if value is not None else {"url": "https://home.example"})],
    }
    return {"envelope_id": name, "type": "interactive", "payload": payload | more}
