"""A provider of tokens, as the public documentation of Google and Microsoft has it: renewal, codes and pages."""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

USER = "bot@post.example"


@dataclass
class TokenServer:
    url: str = ""
    refresh_token: str = "canary-refresh-0"
    rotates: bool = True
    refuses: str = ""
    pending: list[str] = field(default_factory=list)
    good: set[str] = field(default_factory=set)
    asked: list[dict[str, str]] = field(default_factory=list)
    code: str = ""
    challenge: str = ""
    lasts_seconds: int = 3600
    introspected: int = 0
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        if self.refuses:
            return _refusal(self.refuses)
        match form["grant_type"]:
            case "refresh_token":
                if form["refresh_token"] != self.refresh_token:
                    return _refusal("invalid_grant")
            case "authorization_code":
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                shown = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if form["code"] != self.code or shown != self.challenge:
                    return _refusal("invalid_grant")
            case "urn:ietf:params:oauth:grant-type:device_code":
                if self.pending:
                    return _refusal(self.pending.pop(0))
        return web.json_response(self._granted())

    def _granted(self) -> dict[str, Any]:
        number = next(self._numbers)
        access = f"canary-access-{number}"
        self.good = {access}
        told = {"access_token": access, "token_type": "Bearer", "expires_in": self.lasts_seconds}
        if self.rotates:
            self.refresh_token = f"canary-refresh-{number}"
            told["refresh_token"] = self.refresh_token
        return told

    async def device(self, request: web.Request) -> web.Response:
        self.asked.append({name: str(value) for name, value in (await request.post()).items()})
        where = "https://microsoft.com/devicelogin"
        told = {"device_code": "canary-device", "user_code": "ABCD1234", "verification_uri": where, "interval": 5}
        return web.json_response(told | {"expires_in": 900})

    async def introspect(self, request: web.Request) -> web.Response:
        """For Dovecot: whose a token is."""
        self.introspected += 1
        shown = str((await request.post()).get("token", ""))
        return web.json_response({"active": shown in self.good, "username": USER})


@asynccontextmanager
async def token_server() -> AsyncIterator[TokenServer]:
    server = TokenServer()
    app = web.Application()
    app.router.add_post("/token", server.token)
    app.router.add_post("/devicecode", server.device)
    app.router.add_post("/introspect", server.introspect)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


def _refusal(code: str) -> web.Response:
    return web.json_response({"error": code, "error_description": "canary-words of the provider"}, status=400)
