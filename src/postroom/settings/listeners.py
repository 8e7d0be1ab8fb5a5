"""The ports of a process, bound before anything is started: all of them or none."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from postroom.kernel.serving.mcp import SessionBounds
from postroom.kernel.serving.servers import Bounds, CallerConnections, bind_patiently, port_of
from postroom.kernel.values.errors import UserError
from postroom.kernel.values.fields import web_address
from postroom.settings import Ports, ServingSettings, Settings


def where_set(part: str) -> str:
    """A butler of the household's own has its port in its file alone."""
    return f"with POSTROOM_PORTS__{part.upper()}" if part in Ports.model_fields else f"in {part}/butler.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    settings: Settings
    stack: AsyncExitStack
    _sockets: dict[str, socket.socket] = field(default_factory=dict)

    async def bind(self, wanted: Mapping[str, int]) -> None:
        for part, port in wanted.items():
            self._sockets[part] = await bind_patiently(part, self.settings.host, port, where_set=where_set(part))
            self.stack.callback(self._sockets[part].close)

    def __getitem__(self, part: str) -> socket.socket:
        return self._sockets[part]

    def port(self, part: str) -> int:
        """Where it listens here; of a part that runs elsewhere, where the settings say it does."""
        listener = self._sockets.get(part)
        return port_of(listener) if listener else int(getattr(self.settings.ports, part))

    @property
    def pages_url(self) -> str:
        """Where people reach the household's pages."""
        return self.settings.url.rstrip("/") or self.url("api")

    def url(self, part: str) -> str:
        return web_address(self.settings.host, self.port(part))


def bounds_of(settings: ServingSettings) -> tuple[CallerConnections, SessionBounds]:
    """One count of connections for the whole process; sessions are counted port by port."""
    bounds = Bounds(
        total=settings.connections,
        per_peer=settings.connections_per_peer,
        head_seconds=settings.head_seconds,
        per_caller=settings.requests_per_caller,
    )
    sessions = SessionBounds(total=settings.mcp_sessions, per_caller=settings.mcp_sessions_per_caller)
    return CallerConnections(bounds), sessions


# One process at a time works on a SQLite file.


class HomeInUse(UserError):
    """Another household works on the same data."""


@asynccontextmanager
async def sole_worker(settings: Settings) -> AsyncIterator[None]:
    """One process works on a SQLite file; whatever it finds in progress at start is then its own."""
    path = settings.sqlite_file
    if path is None:
        yield
        return
    lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HomeInUse(
                f"Another household is already working on {path}; stop it or choose another home."
            ) from None
        yield
    finally:
        os.close(lock)
