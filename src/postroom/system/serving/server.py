"""Sockets and HTTP servers: bind first, so that a taken port is one clear sentence."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import structlog
import uvicorn
from starlette.types import ASGIApp

from postroom.domain.errors import UserError
from postroom.system.serving.connections import UNCROWDED, BoundedHttp, CallerConnections
from postroom.system.settings import Ports

_BACKLOG = 2048
_GRACE_SECONDS = 3
_AGAIN_SECONDS = 0.1
_LOOK_SECONDS = 0.5
_PASSING = "nobody listens there, but a connection of this machine uses the port as its own end"
_KEEP_ALIVE_SECONDS = 75  # longer than any client keeps one: or else a call may meet a connection just being closed
_log = structlog.get_logger("postroom.serving")


class PortTaken(UserError):
    """Somebody else listens there; or, `passing`, a connection has the port at its own end."""

    def __init__(self, told: str, *, passing: bool = False) -> None:
        super().__init__(told)
        self.passing = passing


def bind(part: str, host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends at once only on sockets that say TCP; others wait up to 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        passing = error.errno == errno.EADDRINUSE and not _is_served(family, host, port)
        cause = f"{error.strerror}: {_PASSING}" if passing else error.strerror
        raise PortTaken(
            f"Port {port} on {host}, wanted for {part}, cannot be used ({cause}); "
            f"free it or set another {where_set(part)}.",
            passing=passing,
        ) from None
    listener.setblocking(False)
    return listener


async def bind_patiently(part: str, host: str, port: int, patience_seconds: float = 60.0) -> socket.socket:
    """
    Waits for a port that only an outgoing connection holds; one where somebody listens is not waited for.

    The usual ports lie where Linux takes those of outgoing connections from (net.ipv4.ip_local_port_range).
    """
    until, waits = time.monotonic() + patience_seconds, False
    while True:
        try:
            return bind(part, host, port)
        except PortTaken as error:
            if not error.passing or time.monotonic() >= until:
                raise
            if not waits:
                waits = True
                _log.warning("port.waits", part=part, port=port, seconds=patience_seconds, reason=_PASSING)
        await asyncio.sleep(_AGAIN_SECONDS)


def _is_served(family: socket.AddressFamily, host: str, port: int) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.settimeout(_LOOK_SECONDS)
        try:
            caller.connect((host, port))
        except OSError:
            return False
        return bool(caller.getsockname() != caller.getpeername())  # within this range one may meet oneself


def where_set(part: str) -> str:
    """A butler of the household's own has its port in its file alone."""
    return f"with POSTROOM_PORTS__{part.upper()}" if part in Ports.model_fields else f"in {part}/butler.toml"


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


class HttpServer(uvicorn.Server):
    """
    Signals belong to the household, which stops its parts in order, and says so.

    So it need not look ten times a second whether it should end; the date of an answer is made with the answer.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self._ending.wait()

    def end(self) -> None:
        self.should_exit = True
        self._ending.set()


@asynccontextmanager
async def serving(
    app: ASGIApp, listener: socket.socket, connections: CallerConnections | None = None
) -> AsyncIterator[HttpServer]:
    """`connections` are those of the whole process, when several servers share their bounds."""
    shared = connections or CallerConnections(UNCROWDED)
    config = uvicorn.Config(
        app,
        http=cast(type[asyncio.Protocol], partial(BoundedHttp, connections=shared)),
        ws=asyncio.Protocol,  # never made: `BoundedHttp` refuses. By default a library is imported for it
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        server_header=False,
        proxy_headers=False,  # what a caller says of its own address is no fact: limits go by the connection
    )
    server = HttpServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        if task.done():
            await task
            raise RuntimeError("the HTTP server stopped before it had started")
        await asyncio.sleep(0.005)
    try:
        yield server
    finally:
        server.end()
        await task
