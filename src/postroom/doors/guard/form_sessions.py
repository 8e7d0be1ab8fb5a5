"""Older clients of people that can show forms have sessions that stream, so that they can be asked back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from postroom.domain.principal import PRINCIPAL, Principal
from postroom.doors.guard.http import read_body, replayed

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
