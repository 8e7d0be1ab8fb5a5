"""A push service on a real socket, as RFC 8030 describes one: it checks who calls, and cannot read what it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from tests.channels.webpush.browser_side import BrowserSide, new_browser, proved
from tests.patience import PATIENCE_SECONDS


@dataclass(slots=True)
class Pushed:
    """One request, with what the browser behind it makes of it."""

    browser: BrowserSide
    headers: dict[str, str]
    body: bytes
    claims: dict[str, Any]
    key: str

    @property
    def shown(self) -> dict[str, Any]:
        return self.browser.shown(self.body)


@dataclass(slots=True)
class PushService:
    url: str = ""
    taken: list[Pushed] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    next_statuses: list[int] = field(default_factory=list)
    cuts: int = 0
    """So many requests are taken, and their answers are lost."""
    came: asyncio.Event = field(default_factory=asyncio.Event)
    _browsers: dict[str, BrowserSide] = field(default_factory=dict)

    def subscribe(self, number: int = 7) -> BrowserSide:
        one = new_browser(f"{self.url}/p/secret-{number}", number)
        self._browsers[f"secret-{number}"] = one
        return one

    async def take(self, request: web.Request) -> web.Response:
        name, body = request.match_info["name"], await request.read()
        if name not in self._browsers or name in self.gone:
            return web.Response(status=410)
        browser = self._browsers[name]
        headers = {one.lower(): value for one, value in request.headers.items()}
        claims, key = proved(headers["authorization"], browser.endpoint, int(time.time()))
        assert headers["content-encoding"] == "aes128gcm" and int(headers["ttl"]) >= 0
        assert headers["urgency"] in ("very-low", "low", "normal", "high") and len(headers["topic"]) <= 32
        if self.next_statuses and (status := self.next_statuses.pop(0)) != 201:
            return web.Response(status=status)
        self.taken.append(Pushed(browser, headers, body, claims, key))
        self.came.set()
        if self.cuts and request.transport is not None:
            self.cuts -= 1
            request.transport.abort()
        return web.Response(status=201, headers={"Location": f"{self.url}/m/{len(self.taken)}"})

    async def until(self, many: int) -> list[Pushed]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.taken) < many:
                self.came.clear()
                await self.came.wait()
        return self.taken


@asynccontextmanager
async def push_service() -> AsyncIterator[PushService]:
    service, app = PushService(), web.Application()
    app.router.add_post("/p/{name}", service.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield service
    finally:
        await runner.cleanup()
