"""HTTP servers: ports bound first, callers bounded in number and time, and what is noted as an answer leaves."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache, partial
from typing import Any, Final, Generic, TypeVar, cast

import structlog
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from postroom.kernel.values.errors import UserError

# Sockets: bound first, so that a taken port is one clear sentence.

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


def bind(part: str, host: str, port: int, *, where_set: str = "") -> socket.socket:
    """`where_set` ends the sentence about a port that is taken: "with POSTROOM_PORTS__API"."""
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
            f"free it or set another{where_set and f' {where_set}'}.",
            passing=passing,
        ) from None
    listener.setblocking(False)
    return listener


async def bind_patiently(
    part: str, host: str, port: int, patience_seconds: float = 60.0, *, where_set: str = ""
) -> socket.socket:
    """
    Waits for a port that only an outgoing connection holds; one where somebody listens is not waited for.

    The usual ports lie where Linux takes those of outgoing connections from (net.ipv4.ip_local_port_range).
    """
    until, waits = time.monotonic() + patience_seconds, False
    while True:
        try:
            return bind(part, host, port, where_set=where_set)
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


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


# How many callers may be connected, in all and from one address, and how long they may take to ask.

_BODY_SECONDS: Final = 60.0
_HEALTH: Final = b"/health"
_HEALTH_ROOM: Final = 16  # connections beyond all bounds that may ask for health, and for nothing else
_OWN_DESCRIPTORS: Final = 256  # for databases, providers, models and files, whatever callers do
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_CROWDED: Final = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    total: int
    per_peer: int
    head_seconds: float
    per_caller: int = 10**6


_UNCROWDED: Final = Bounds(total=2000, per_peer=500, head_seconds=10.0)


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

    Where there is no room, the oldest that is not being served makes room: one that has never asked for anything, then
    one that was answered and is kept open, then the one that has been silent longest in the middle of its request. When
    all are being served the newcomer may only ask for health. One caller's token has a bound of its own.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._most = min(bounds.total, room_for_callers())
        self._all: dict[BoundedHttp, None] = {}
        self._by_peer: dict[str, dict[BoundedHttp, None]] = {}
        self._for_health: dict[BoundedHttp, None] = {}
        self._served: Counter[bytes] = Counter()  # connections on which a request of that token is under way

    def admit(self, caller: BoundedHttp) -> bool:
        peers = self._by_peer.setdefault(caller.peer, {})
        if self._has_room(peers, self.bounds.per_peer) and self._has_room(self._all, self._most):
            self._all[caller] = self._by_peer.setdefault(caller.peer, {})[caller] = None
            return True
        return False

    def admit_for_health(self, caller: BoundedHttp) -> None:
        """The oldest of them goes: who asks for health does so at once."""
        self._for_health[caller] = None
        if len(self._for_health) > _HEALTH_ROOM:
            oldest = next(iter(self._for_health))
            del self._for_health[oldest]
            oldest.turn_away(_BUSY)

    def serve(self, token: bytes) -> bool:
        """False when as many requests of this token are under way as may be."""
        if self._served[token] >= self.bounds.per_caller:
            return False
        self._served[token] += 1
        return True

    def served(self, token: bytes) -> None:
        self._served[token] -= 1
        if not self._served[token]:
            del self._served[token]

    def leave(self, caller: BoundedHttp) -> None:
        self._for_health.pop(caller, None)
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
    halfway: BoundedHttp | None = None
    for one in callers:
        if one.has_asked_nothing:
            return one
        if answered is None and not one.is_served:
            answered = one
        if one.is_halfway and (halfway is None or one.heard_at < halfway.heard_at):
            halfway = one
    return answered or halfway


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


def _token(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """The one that the doors will go by, however its header is written and whatever stands beside it."""
    given = dict(reversed(headers))  # the first of a name counts
    if (authorization := given.get(b"authorization")) is not None:
        return authorization.partition(b" ")[2].strip()
    return given.get(b"x-api-key")


class BoundedHttp(HttpToolsProtocol):
    """One caller's connection."""

    def __init__(self, *arguments: Any, connections: CallerConnections, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._callers = connections
        self._deadline: asyncio.TimerHandle | None = None
        self._seen: object = None
        self._is_for_health = False
        self._token: bytes | None = None  # of the request under way
        self.peer = ""
        self.heard_at = 0.0

    @property
    def has_asked_nothing(self) -> bool:
        return self.cycle is None

    @property
    def is_served(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_halfway(self) -> bool:
        """Its request has begun and is not all there, and nothing of an answer has left."""
        return self.is_served and self.cycle.more_body and not self.cycle.response_started

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        if self._callers.admit(self):
            self._expect(self._callers.bounds.head_seconds)
        else:
            self._is_for_health = True
            self._expect(self._callers.bounds.head_seconds)
            self._callers.admit_for_health(self)

    def turn_away(self, told: bytes) -> None:
        self.transport.write(told)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._callers.leave(self)
        self._ended()
        self._expect(None)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The date is of the request that is answered: no server here has a clock that ticks."""
        super().on_message_begin()
        self.server_state.default_headers = [(b"date", _date(int(time.time()))), *self.config.encoded_headers]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Blanks around a value are no part of it (RFC 9110, 5.5); the parser leaves those after it."""
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """What may not be served is turned away before anything works on it."""
        if self._is_for_health and self.url.partition(b"?")[0] != _HEALTH:
            self.turn_away(_BUSY)
            return
        token = _token(self.headers)
        if self._token is None and token is not None:
            if not self._callers.serve(token):
                self.turn_away(_CROWDED)
                return
            self._token = token
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():  # nobody works on what was turned away
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self.transport.is_closing():
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        self.heard_at = self.loop.time()
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
        if not self.pipeline:
            self._ended()
        super().on_response_complete()

    def _ended(self) -> None:
        if self._token is not None:
            self._callers.served(self._token)
            self._token = None

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


# An HTTP server on a socket.


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
    shared = connections or CallerConnections(_UNCROWDED)
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


# An application that is imported and put together for its first request.

App = TypeVar("App", bound=ASGIApp)


class WhenAsked(Generic[App]):
    """In a thread, because it takes a moment in which others are served; once, however many ask at first."""

    def __init__(self, build: Callable[[], App]) -> None:
        self._build = build
        self._built: App | None = None
        self._turn = asyncio.Lock()

    async def application(self) -> App:
        async with self._turn:
            if self._built is None:
                self._built = await asyncio.to_thread(self._build)
            return self._built

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        application = self._built or await self.application()
        await application(scope, receive, send)


# What is only true once an answer goes out to a caller who is still there.

Note = Callable[[], Awaitable[Any]]


class _Answer:
    """The one that is being made; `is_gone` is its reader."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.is_over = False
        self.is_gone = False


_ANSWER: ContextVar[_Answer | None] = ContextVar("answer", default=None)


async def when_written(note: Note) -> None:
    """Now, where nothing is being answered; never, when the caller has hung up before the answer was there."""
    answer = _ANSWER.get()
    if answer is None or (answer.is_over and not answer.is_gone):
        await note()
    elif not answer.is_gone:
        answer.notes.append(note)


async def answering(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """What `app` leaves to be noted is noted before the bytes that tell of it leave: who has read them finds it so."""
    answer = _Answer()

    async def noted(message: Message) -> None:
        while answer.notes and not answer.is_gone:
            answer.is_gone = await _has_hung_up(receive)
            if not answer.is_gone:
                await answer.notes.pop(0)()
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            answer.is_over = True
        await send(message)

    token = _ANSWER.set(answer)
    try:
        await app(scope, receive, noted)
    finally:
        answer.is_gone = answer.is_gone or not answer.is_over
        _ANSWER.reset(token)


async def _has_hung_up(receive: Receive) -> bool:
    """What the server knows by now; the body has been read, so nothing else can come."""
    hearing = asyncio.ensure_future(receive())
    await asyncio.sleep(0)
    if not hearing.done():
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        return False
    return bool(hearing.result()["type"] == "http.disconnect")
