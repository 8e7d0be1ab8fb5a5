"""Calls of tools that wait for people are answered as a stream; all others at once and as cheaply as before."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from postroom.doors.guard.http import read_body, replayed

_PATH: Final = "/mcp"
_STREAM: Final = "text/event-stream"
_CALL: Final = "tools/call"


class LongCalls:
    """
    The newer protocol names method and tool in headers; for the older one the body is looked at.

    A caller who cannot read a stream is answered as JSON, without progress.
    """

    def __init__(self, app: ASGIApp, streaming: ASGIApp, tools: Collection[str]) -> None:
        self._app = app
        self._streaming = streaming
        self._tools = frozenset(tools)
        self._quoted = [f'"{tool}"'.encode() for tool in tools]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if _STREAM not in headers.get("accept", ""):
            await self._app(scope, receive, send)
        elif (method := headers.get("mcp-method")) is not None:
            is_long = method == _CALL and headers.get("mcp-name") in self._tools
            await (self._streaming if is_long else self._app)(scope, receive, send)
        else:
            await self._by_body(scope, receive, send)

    async def _by_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        if body is None:  # its caller is gone, or sends more than the guard lets through
            return
        serve = self._streaming if self._is_long(body) else self._app
        await serve(scope, replayed(body, receive), send)

    def _is_long(self, body: bytes) -> bool:
        if not any(quoted in body for quoted in self._quoted):
            return False
        try:
            call = json.loads(body)
        except (ValueError, RecursionError):
            return False
        params = call.get("params") if isinstance(call, dict) else None
        name = params.get("name") if isinstance(params, dict) else None
        return isinstance(name, str) and call.get("method") == _CALL and name in self._tools
