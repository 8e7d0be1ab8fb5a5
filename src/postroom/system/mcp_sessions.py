"""How many MCP sessions stay open: so many in all and of one caller, the least recently used goes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.domain.principal import PRINCIPAL

_PATH: Final = "/mcp"
_HEADER: Final = "mcp-session-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBounds:
    total: int = 1000
    per_caller: int = 100


@dataclass(slots=True)
class _Session:
    caller: str
    calls: int = 0  # under way


class McpSessions:
    """Stands behind the guard, so a caller without a token opens none; ends a session as its client would."""

    def __init__(self, app: ASGIApp, bounds: SessionBounds) -> None:
        self._app = app
        self._bounds = bounds
        self._open: dict[str, _Session] = {}  # the least recently used first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
        elif (session_id := Headers(scope=scope).get(_HEADER)) in self._open:
            await self._within(str(session_id), scope, receive, send)
        else:
            await self._opening(scope, receive, send)

    async def _opening(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watch(message: Message) -> None:
            if opened := _opened(message):
                self._open[opened] = _Session(str(scope.get(PRINCIPAL)))
                await self._make_room(scope, opened)
            await send(message)

        await self._app(scope, receive, watch)

    async def _within(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._open[session_id] = self._open.pop(session_id)
        session.calls += 1
        try:
            await self._app(scope, receive, send)
        finally:
            session.calls -= 1
            if self._open.pop(session_id, None) and scope["method"] != "DELETE":
                self._open[session_id] = session

    async def _make_room(self, scope: Scope, newest: str) -> None:
        caller = self._open[newest].caller
        mine = [one for one, session in self._open.items() if session.caller == caller and one != newest]
        if len(mine) >= self._bounds.per_caller:
            await self._end(scope, mine)
        if len(self._open) > self._bounds.total:
            await self._end(scope, [one for one in self._open if one != newest])

    async def _end(self, scope: Scope, candidates: list[str]) -> None:
        """One without a call under way, if there is any; ended in the name of the caller whose it is."""
        ended = next((one for one in candidates if not self._open[one].calls), candidates[0])
        caller = self._open.pop(ended).caller
        kept = [(name, value) for name, value in scope["headers"] if name == b"host"]
        headers = [*kept, (_HEADER.encode(), ended.encode())]
        leaving = {**scope, "method": "DELETE", "headers": headers, PRINCIPAL: caller}
        await self._app(leaving, _nothing_more, _unheard)


def _opened(message: Message) -> str | None:
    if message["type"] != "http.response.start" or message["status"] >= 400:
        return None
    return Headers(raw=message["headers"]).get(_HEADER)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    pass
