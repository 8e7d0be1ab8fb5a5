"""How many callers may be connected, in all and from one address, and how long they may take to ask."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from postroom.system.mcp_sessions import SessionBounds
from postroom.system.settings import ServingSettings

_BODY_SECONDS: Final = 60.0
_OWN_DESCRIPTORS: Final = 256  # for databases, providers, models and files, whatever callers do
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    total: int
    per_peer: int
    head_seconds: float


UNCROWDED: Final = Bounds(total=2000, per_peer=500, head_seconds=10.0)


def raise_descriptor_limit() -> None:
    """As many as the system allows this process; what is allowed by default is a matter of old programs."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def room_for_callers() -> int:
    """Descriptors beside those we need for our own work."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(16, soft - max(_OWN_DESCRIPTORS, soft // 4)) if soft != resource.RLIM_INFINITY else 10**6


class CallerConnections:
    """
    Every caller of this process, the oldest first.

    Where there is no room, the oldest that is not being served makes room: one that has never asked for
    anything before one that was answered and is kept open. When all are being served the newcomer is refused.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._most = min(bounds.total, room_for_callers())
        self._all: dict[BoundedHttp, None] = {}
        self._by_peer: dict[str, dict[BoundedHttp, None]] = {}

    def admit(self, caller: BoundedHttp) -> bool:
        peers = self._by_peer.setdefault(caller.peer, {})
        if self._has_room(peers, self.bounds.per_peer) and self._has_room(self._all, self._most):
            self._all[caller] = self._by_peer.setdefault(caller.peer, {})[caller] = None
            return True
        return False

    def leave(self, caller: BoundedHttp) -> None:
        self._all.pop(caller, None)
        peers = self._by_peer.get(caller.peer, {})
        peers.pop(caller, None)
        if not peers:
            self._by_peer.pop(caller.peer, None)

    def _has_room(self, callers: dict[BoundedHttp, None], most: int) -> bool:
        if len(callers) < most:
            return True
        idle = _longest_idle(callers)
        if idle is None:
            return False
        self.leave(idle)
        idle.transport.close()
        return True


def _longest_idle(callers: Iterable[BoundedHttp]) -> BoundedHttp | None:
    answered: BoundedHttp | None = None
    for one in callers:
        if one.has_asked_nothing:
            return one
        if answered is None and not one.is_served:
            answered = one
    return answered


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


class BoundedHttp(HttpToolsProtocol):
    """One caller's connection."""

    def __init__(self, *arguments: Any, connections: CallerConnections, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._callers = connections
        self._deadline: asyncio.TimerHandle | None = None
        self._seen: object = None
        self.peer = ""

    @property
    def has_asked_nothing(self) -> bool:
        return self.cycle is None

    @property
    def is_served(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        if self._callers.admit(self):
            self._expect(self._callers.bounds.head_seconds)
        else:
            transport.write(_BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._callers.leave(self)
        self._expect(None)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The date is of the request that is answered: no server here has a clock that ticks."""
        super().on_message_begin()
        self.server_state.default_headers = [(b"date", _date(int(time.time()))), *self.config.encoded_headers]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Blanks around a value are no part of it (RFC 9110, 5.5); the parser leaves those after it."""
        super().on_header(name, value.strip(b" \t"))

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is not self._seen:  # a head is complete
            self._seen = self.cycle
            self._expect(_BODY_SECONDS)
        elif not self.is_served and self._deadline is None:  # the next one begins
            self._expect(self._callers.bounds.head_seconds)
        if self.is_served and not self.cycle.more_body:
            self._expect(None)

    def on_response_complete(self) -> None:
        self._expect(None)
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        self.send_400_response("No door here speaks WebSocket.")

    def _expect(self, seconds: float | None) -> None:
        """Something within so many seconds; nothing any more with None."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self._is_late) if seconds is not None else None

    def _is_late(self) -> None:
        if not self.transport.is_closing():
            if not self.has_asked_nothing or self.headers is not None:
                self.transport.write(_LATE)
            self.transport.close()


def bounds_of(settings: ServingSettings) -> tuple[CallerConnections, SessionBounds]:
    """One count of connections for the whole process; sessions are counted port by port."""
    bounds = Bounds(
        total=settings.connections, per_peer=settings.connections_per_peer, head_seconds=settings.head_seconds
    )
    sessions = SessionBounds(total=settings.mcp_sessions, per_caller=settings.mcp_sessions_per_caller)
    return CallerConnections(bounds), sessions
