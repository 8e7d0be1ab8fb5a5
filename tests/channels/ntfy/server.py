"""An ntfy server of another hand than the sandbox's: publishes, keeps, streams, and misbehaves on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class Server:
    """`knows_sequences` off: as before version 2.16. `keeps` off: no cache. `accounts` off: as before version 2."""

    def __init__(self) -> None:
        self.topics: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[str] = []
        self.authorization: list[str | None] = []
        self.knows_sequences = True
        self.keeps = True
        self.accounts = True
        self.second = 1_780_000_000
        self.refuses_reading = False
        self.cut_after_accepting = False
        self.ends_streams = False
        self.streams = 0
        self.opened = asyncio.Event()
        self.url = ""
        self._queues: list[tuple[str, asyncio.Queue[dict[str, Any]]]] = []

    def take(self, body: dict[str, Any]) -> dict[str, Any]:
        count = sum(len(one) for one in self.topics.values())
        event = {"id": f"msg{count:09d}", "time": self.second, "event": "message", **body}
        if self.keeps:
            event["expires"] = self.second + 43_200
        if not self.knows_sequences:
            event.pop("sequence_id", None)
        self.topics.setdefault(body["topic"], []).append(event)
        for topic, queue in self._queues:
            if topic == body["topic"]:
                queue.put_nowait(event)
        return event

    async def publish(self, request: web.Request) -> web.StreamResponse:
        self.authorization.append(request.headers.get("Authorization"))
        topic = request.match_info.get("topic")
        body = {"topic": topic, "message": (await request.text())} if topic else await request.json()
        event = self.take(body)
        if self.cut_after_accepting:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(event)

    async def read(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(str(request.rel_url))
        if self.refuses_reading:
            return web.json_response({"code": 40301, "http": 403, "error": "forbidden"}, status=403)
        topic, since = request.match_info["topic"], request.query["since"]
        first = 0 if since == "all" else int(since)
        old = [one for one in self.topics.get(topic, []) if self.keeps and one["time"] >= first]
        response = web.StreamResponse()
        await response.prepare(request)
        if "poll" not in request.query:
            await response.write(b'{"id":"o","time":1,"event":"open"}\n')
        await response.write(b"".join(json.dumps(one).encode() + b"\n" for one in old))
        if "poll" not in request.query:
            await self._stream(response, topic)
        return response

    async def _stream(self, response: web.StreamResponse, topic: str) -> None:
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._queues.append((topic, queue))
        self.streams += 1
        self.opened.set()
        while not self.ends_streams:
            line = json.dumps(await queue.get()).encode() + b"\n"
            for place in range(0, len(line), 7):  # as a network may hand it over
                await response.write(line[place : place + 7])

    async def account(self, request: web.Request) -> web.StreamResponse:
        if not self.accounts:
            return web.json_response({"code": 40401, "http": 404, "error": "page not found"}, status=404)
        limits = {"messages_expiry_duration": 43_200 if self.keeps else 0}
        return web.json_response({"username": "phil", "role": "user", "limits": limits})

    async def health(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"healthy": True})


@asynccontextmanager
async def running() -> AsyncIterator[Server]:
    server, application = Server(), web.Application()
    application.add_routes(
        [
            web.post("/base/", server.publish),
            web.post("/base/{topic}", server.publish),
            web.get("/base/{topic}/json", server.read),
            web.get("/base/v1/account", server.account),
            web.get("/base/v1/health", server.health),
        ]
    )
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/base"
    try:
        yield server
    finally:
        await runner.cleanup()
