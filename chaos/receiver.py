"""A program of one's own that takes webhooks: it checks the signature and handles each id once."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any, Final, Self

from aiohttp import web

from chaos.tokens import Copies, count

SECRET: Final = "whsec_" + base64.b64encode(b"only chaos has this key").decode()
_FRESH_SECONDS: Final = 300
_HANG_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Fault:
    """`delay_seconds` of the answer, or a mode as the sandbox's: `accept_then_cut`, `hang`."""

    delay_seconds: float = 0.0
    mode: str = ""


class Receiver:
    """`forged` counts what was not signed as it should be, `changed` the ids that came again with other words."""

    def __init__(self) -> None:
        self._handled: dict[str, bytes] = {}
        self._faults: list[_Fault] = []
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.forged = 0
        self.changed = 0

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/hook", self._take)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def arm(self, _channel: str, *, times: int = 1, **fault: Any) -> None:
        self._faults += [_Fault(**fault)] * times

    async def clear_faults(self) -> None:
        self._faults.clear()

    def set_clock(self, _offset_seconds: float) -> None:
        """What it was handed it knows for good, and signatures are made by the machine's own clock."""

    async def received(self) -> Copies:
        """As the receiver's own program has handled them."""
        return count(json.loads(body)["data"]["message"] for body in self._handled.values())

    async def _take(self, request: web.Request) -> web.StreamResponse:
        fault = self._faults.pop(0) if self._faults else _Fault()
        body = await request.read()
        if fault.mode == "hang":
            await asyncio.sleep(_HANG_SECONDS)
        if not _is_signed(request, body):
            self.forged += 1
            return web.Response(status=401)
        self._handle(request.headers["webhook-id"], body)
        await asyncio.sleep(fault.delay_seconds)
        if fault.mode == "accept_then_cut" and request.transport is not None:
            request.transport.abort()
        return web.json_response({"id": request.headers["webhook-id"]})

    def _handle(self, name: str, body: bytes) -> None:
        first = self._handled.setdefault(name, body)
        self.changed += first != body


def _is_signed(request: web.Request, body: bytes) -> bool:
    """As standardwebhooks.com says, read from there and not from what signs."""
    name, at = request.headers.get("webhook-id", ""), request.headers.get("webhook-timestamp", "")
    if not at.isdecimal() or abs(time.time() - int(at)) > _FRESH_SECONDS:
        return False
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    digest = hmac.new(key, b".".join([name.encode(), at.encode(), body]), hashlib.sha256).digest()
    wanted = f"v1,{base64.b64encode(digest).decode()}"
    return any(hmac.compare_digest(one, wanted) for one in request.headers.get("webhook-signature", "").split())
