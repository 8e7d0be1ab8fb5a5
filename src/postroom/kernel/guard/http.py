"""The gate of every HTTP port: Host, Origin, body size and bearer token; and the caller behind a request."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Final, Protocol

from anyio import CancelScope
from fastapi import Depends, HTTPException, Request
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.kernel.http.answers import JsonObject, as_object, json_object
from postroom.kernel.serving.servers import answering
from postroom.kernel.values.principal import HEADER, PRINCIPAL, Principal, checked_key

MAX_BODY_BYTES: Final = 1024 * 1024
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
RESERVED_ID: Final = "postroom.reserved_id"  # of what a call under a key makes


class Verifier(Protocol):
    def verify(self, token: str) -> Principal | None: ...


class Guard:
    """
    Refuses what should not reach a door, and tells the door who is calling.

    A browser sends Host and Origin of the page it shows, so checking both keeps
    foreign pages away from servers on the same machine. Paths listed as public
    are served without a token, to the same hosts and origins only. Below a path
    listed in `own_doors` stands a door that asks in its own way who is there. Pages
    below a path in `without_referrer` keep their address, which is a secret, from all
    others: of such a page a browser calls the origin "null", also to us. A path in `streamed` has its own limit of
    bytes, and reads its body piece by piece, itself counting those of one that does not say how long it is.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        verifier: Verifier,
        public: Iterable[str] = ("/health", "/openapi.json"),
        own_doors: Iterable[str] = (),
        without_referrer: Iterable[str] = (),
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        allow: Callable[[Principal], bool] = lambda _: True,
        streamed: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._app = app
        self._verifier = verifier
        self._public = frozenset(public)
        self._own_doors = tuple(f"{path}/" for path in own_doors)
        self._without_referrer = tuple(f"{path}/" for path in without_referrer)
        self._hosts = _LOOPBACK | {host.lower() for host in hosts}
        self._origins = frozenset(origins)
        self._allow = allow
        self._streamed = streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # no door speaks it, so none needs to be guarded
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if refusal := self._refusal(scope, headers):
            await _answer(send, *refusal)
            return
        if scope["path"] not in self._streamed and ("content-length" not in headers or "transfer-encoding" in headers):
            body = await read_body(receive)
            if body is None:
                await _answer(send, 413, "the body is too large")
                return
            receive = replayed(body, receive)
        await answering(self._app, scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _hostname(hosts[0]) not in self._hosts:
            return 421, "this host is not served here"
        hidden = {"null"} if scope["path"].startswith(self._without_referrer) else set()
        if any(origin not in hidden and not self._is_own(origin, hosts[0]) for origin in origins):
            return 403, "this origin is not allowed"
        if _declared_size(headers) > self._streamed.get(scope["path"], MAX_BODY_BYTES):
            return 413, "the body is too large"
        return self._stranger(scope, headers)

    def _stranger(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        principal = self._principal(headers)
        if scope["path"] not in self._public and not scope["path"].startswith(self._own_doors):
            if principal is None:
                return 401, "a valid bearer token is required"
            if not self._allow(principal):
                return 403, f"{principal} has no business here"
        scope[PRINCIPAL] = principal
        return None

    def _principal(self, headers: Headers) -> Principal | None:
        token = presented_token(headers)
        return None if token is None else self._verifier.verify(token)

    def _is_own(self, origin: str, host: str) -> bool:
        return origin in self._origins or origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def presented_token(headers: Headers) -> str | None:
    """A bearer token, or the same token as an API key; a wrong one is never made good by the other."""
    if (authorization := headers.get("authorization")) is not None:
        scheme, _, token = authorization.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None
    key = headers.get("x-api-key")
    return key.strip() if key else None


def _hostname(host: str) -> str:
    name, separator, port = host.lower().rpartition(":")
    return name if separator and port.isascii() and port.isdigit() else host.lower()


def _declared_size(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else sys.maxsize


async def read_body(receive: Receive) -> bytes | None:
    """A body that says nothing of its size is read before anybody works on it; None when it is too large or cut."""
    body = b""
    while len(body) <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body if len(body) <= MAX_BODY_BYTES else None
    return None


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever else comes."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _answer(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"error": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="postroom"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# For routes of FastAPI: who calls, and under which key.


def principal_of(request: Request) -> Principal:
    principal = request.scope.get(PRINCIPAL)
    if not isinstance(principal, Principal):
        raise HTTPException(401, "a valid bearer token is required")
    return principal


Caller = Annotated[Principal, Depends(principal_of)]


def idempotency_key_of(request: Request) -> str | None:
    return checked_key(request.headers.getlist(HEADER))


IdempotencyKey = Annotated[str | None, Depends(idempotency_key_of)]


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
    call = json_object(body)
    capabilities = as_object(as_object(call.get("params")).get("capabilities"))
    return call.get("method") == "initialize" and isinstance(capabilities.get("elicitation"), dict)


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
        params = as_object(message.get("params"))
        name = params.get("name")
        if message.get("method") == _CALL and isinstance(name, str) and name in self._tools:
            await self._until_given_up(_call(scope, message.get("id")), scope, receive, send)
            return
        if message.get("method") == _GIVEN_UP:
            call = _call(scope, params.get("requestId"))
            if call is not None and call in self._under_way:
                self._under_way[call].cancel()
        await self._app(scope, receive, send)

    def _read(self, body: bytes) -> JsonObject:
        return json_object(body) if any(word in body for word in self._looked_for) else {}

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
