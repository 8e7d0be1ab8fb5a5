"""The websocket of Socket Mode: opened with a ticket, greeted, fed with envelopes until it closes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from typing import Any

from aiohttp import WSMsgType, web

from tests.fakes.slack.envelopes import SlackEnvelopes
from tests.fakes.slack.workspace import APP_ID


class SlackSocket:
    def __init__(self, envelopes: SlackEnvelopes, stopping: asyncio.Event) -> None:
        self._envelopes = envelopes
        self._stopping = stopping
        self._tickets: list[str] = []
        self.connections = 0

    def address(self, host: str) -> str:
        """Good for one connection."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.append(ticket)
        return f"ws://{host}/slack/socket?ticket={ticket}&app_id={APP_ID}"

    async def serve(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.json_response({"ok": False, "error": "invalid_ticket"}, status=401)
        self._tickets.remove(ticket)
        socket = web.WebSocketResponse(heartbeat=30.0, timeout=1.0)
        await socket.prepare(request)
        await self._talk(socket)
        return socket

    async def _talk(self, socket: web.WebSocketResponse) -> None:
        self.connections += 1
        tasks = [asyncio.create_task(one) for one in (self._feed(socket), self._say_goodbye(socket))]
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._envelopes.acknowledged(json.loads(message.data).get("envelope_id"))
        finally:
            self.connections -= 1
            for task in tasks:
                task.cancel()
            self._envelopes.lost(socket)  # before anything is waited for: a handler whose client left is cancelled
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _feed(self, socket: web.WebSocketResponse) -> None:
        with contextlib.suppress(ConnectionError):
            await socket.send_json(_hello(self.connections))
            while True:
                news = self._envelopes.news.news()
                for frame in self._envelopes.take(socket):
                    await socket.send_json(frame)
                await news.wait()

    async def _say_goodbye(self, socket: web.WebSocketResponse) -> None:
        await self._stopping.wait()
        await socket.close()


def _hello(connections: int) -> dict[str, Any]:
    return {
        "type": "hello",
        "num_connections": connections,
        "debug_info": {"host": "sandbox", "approximate_connection_time": 18_060},
        "connection_info": {"app_id": APP_ID},
    }
