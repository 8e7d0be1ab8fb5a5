"""Calls over MCP that take their time: as streams, or in sessions in which a person can be asked back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from anyio import CancelScope
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.kernel.guard.http import read_body, replayed
from postroom.kernel.values.principal import PRINCIPAL, Principal

# Older clients of people that can show forms have sessions that stream, so that they can be asked back.

_PATH: Final = "/mcp"
_STREAM: Final = "text/event-stream"
_SESSION: Final = "mcp-session-id"
_ABLE: Final = b'"elicitation"'


class FormSessions:
    """
    A session begins here when a person's client says that it can; all its calls come here until it ends.

    It belongs to the caller that began it: no other can answer what was asked in it. `is_ours` knows the sessions.
    """

    def __init__(self, app: ASGIApp, streaming: ASGIApp, is_ours: Callable[[str], bool]) -> None:
        self._app = app
        self._streaming = streaming
        self._is_ours = is_ours

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        session_id = headers.get(_SESSION)
        if session_id is not None:
            serve = self._ours if self._is_ours(session_id) else self._app
            await serve(scope, receive, send)
        elif _may_begin(scope, headers):
            await self._by_body(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _by_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        if body is None:  # its caller is gone, or sends more than the guard lets through
            return
        serve = self._ours if _begins_with_forms(body) else self._app
        await serve(scope, replayed(body, receive), send)

    async def _ours(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner = AccessToken(token="", client_id=str(scope.get(PRINCIPAL)), scopes=[])
        await self._streaming({**scope, "user": AuthenticatedUser(owner)}, receive, send)


def _may_begin(scope: Scope, headers: Headers) -> bool:
    """The newer protocol names its method in a header and has no sessions."""
    who = scope.get(PRINCIPAL)
    is_older = scope["method"] == "POST" and "mcp-method" not in headers and _STREAM in headers.get("accept", "")
    return is_older and isinstance(who, Principal) and who.is_person


def _begins_with_forms(body: bytes) -> bool:
    if _ABLE not in body:
        return False
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return False
    capabilities = _member(_member(call, "params"), "capabilities")
    return _member(call, "method") == "initialize" and isinstance(_member(capabilities, "elicitation"), dict)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


# Calls of tools that wait for people are answered as a stream; all others at once and as cheaply as before.

_CALL: Final = "tools/call"
_GIVEN_UP: Final = "notifications/cancelled"
_REQUEST_CANCELLED: Final = -32800  # as the framework answers in the sessions that it keeps itself
_STREAMED: Final = [(b"content-type", _STREAM.encode())]


@dataclass(frozen=True, slots=True)
class _Call:
    """`id` is as the client wrote it: 1 is not "1"."""

    caller: str
    session: str
    id: str


class LongCalls:
    """
    The newer protocol names method and tool in headers; for the older one the body is looked at.

    A caller who cannot read a stream is answered as JSON, without progress. The streams know no sessions, so that a
    client gives up a call of its session is heard here; a client of the newer protocol hangs up.
    """

    def __init__(self, app: ASGIApp, streaming: ASGIApp, tools: Collection[str]) -> None:
        self._app = app
        self._streaming = streaming
        self._tools = frozenset(tools)
        self._looked_for = [*(f'"{tool}"'.encode() for tool in tools), b'cancelled"']  # some write the slash as "\\/"
        self._under_way: dict[_Call, CancelScope] = {}

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
        receive, message = replayed(body, receive), self._read(body)
        params = _object(message.get("params"))
        name = params.get("name")
        if message.get("method") == _CALL and isinstance(name, str) and name in self._tools:
            await self._until_given_up(_call(scope, message.get("id")), scope, receive, send)
            return
        if message.get("method") == _GIVEN_UP:
            call = _call(scope, params.get("requestId"))
            if call is not None and call in self._under_way:
                self._under_way[call].cancel()
        await self._app(scope, receive, send)

    def _read(self, body: bytes) -> dict[str, Any]:
        if not any(word in body for word in self._looked_for):
            return {}
        try:
            return _object(json.loads(body))
        except (ValueError, RecursionError):
            return {}

    async def _until_given_up(self, call: _Call | None, scope: Scope, receive: Receive, send: Send) -> None:
        if call is None or call in self._under_way:
            await self._streaming(scope, receive, send)
            return
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        with CancelScope() as waiting:
            self._under_way[call] = waiting
            try:
                await self._streaming(scope, receive, noted)
            finally:
                del self._under_way[call]
        if waiting.cancelled_caught:
            if not has_begun:
                await send({"type": "http.response.start", "status": 200, "headers": _STREAMED})
            await send({"type": "http.response.body", "body": _ended(call), "more_body": False})


def _call(scope: Scope, identifier: object) -> _Call | None:
    """Without a session a number is any client's that has this token."""
    session = Headers(scope=scope).get(_SESSION)
    if session is None or not isinstance(identifier, str | int):
        return None
    return _Call(str(scope.get(PRINCIPAL)), session, json.dumps(identifier))


def _ended(call: _Call) -> bytes:
    """In the older protocol only an answer ends a stream."""
    error = {"code": _REQUEST_CANCELLED, "message": "Request cancelled"}
    answer = {"jsonrpc": "2.0", "id": json.loads(call.id), "error": error}
    return f"event: message\r\ndata: {json.dumps(answer)}\r\n\r\n".encode()


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
