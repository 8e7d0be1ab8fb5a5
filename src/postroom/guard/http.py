"""The gate of every HTTP port: Host, Origin, body size and bearer token."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, Protocol

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.domain.principal import Principal

MAX_BODY_BYTES: Final = 1024 * 1024
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
PRINCIPAL: Final = "postroom.principal"


class Verifier(Protocol):
    def verify(self, token: str) -> Principal | None: ...


class Guard:
    """
    Refuses what should not reach a door, and tells the door who is calling.

    A browser sends Host and Origin of the page it shows, so checking both keeps
    foreign pages away from servers on the same machine. Paths listed as public
    are served without a token, to the same hosts and origins only.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        verifier: Verifier,
        public: Iterable[str] = ("/health", "/openapi.json"),
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._verifier = verifier
        self._public = frozenset(public)
        self._hosts = _LOOPBACK | frozenset(hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if refusal := self._refusal(scope, headers):
            await _answer(send, *refusal)
            return
        await self._app(scope, _limited(receive), send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        if len(headers.getlist("host")) != 1 or _hostname(headers["host"]) not in self._hosts:
            return 421, "this host is not served here"
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, headers["host"]):
            return 403, "this origin is not allowed"
        if _declared_size(headers) > MAX_BODY_BYTES:
            return 413, "the body is too large"
        principal = self._principal(headers)
        if principal is None and scope["path"] not in self._public:
            return 401, "a valid bearer token is required"
        scope[PRINCIPAL] = principal
        return None

    def _principal(self, headers: Headers) -> Principal | None:
        """A bearer token, or the same token as an API key; a wrong one is never made good by the other."""
        if (authorization := headers.get("authorization")) is not None:
            scheme, _, token = authorization.partition(" ")
            return self._verifier.verify(token.strip()) if scheme.lower() == "bearer" else None
        key = headers.get("x-api-key")
        return self._verifier.verify(key.strip()) if key else None

    def _is_own(self, origin: str, host: str) -> bool:
        return origin in self._origins or origin in (f"http://{host}", f"https://{host}")


def _hostname(host: str) -> str:
    name, separator, port = host.rpartition(":")
    return name if separator and port.isdigit() else host


def _declared_size(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isdigit() else MAX_BODY_BYTES + 1


def _limited(receive: Receive) -> Receive:
    """A body that says nothing of its size is counted as it comes."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY_BYTES:
            return {"type": "http.disconnect"}
        return message

    return counted


async def _answer(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"error": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="postroom"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
