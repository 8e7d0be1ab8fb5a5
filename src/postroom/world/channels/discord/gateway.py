"""
The connection to Discord's Gateway: opened when somebody listens, kept alive while events are handled.

One task reads and sends heartbeats until the channel is closed. A cut is mended at once, once for each look, by taking
the session up again; after that `listen` says that Discord is away, and the next call connects anew. New sessions are
counted by Discord, which takes a bot's token away after a thousand in a day, so a start that fails is followed by a
growing pause.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from postroom.domain.errors import TargetUnavailable
from postroom.domain.inbound_message import InboundEvent, Listened
from postroom.world.channels.discord.farewell import Barred, Cut, farewell
from postroom.world.channels.discord.gateway_session import (
    GatewaySession,
    GatewayStart,
    Op,
    heartbeat,
    identify,
    resume,
)
from postroom.world.channels.discord.heard_events import HeardEvents

CONNECT_SECONDS: Final = 20.0
_LARGEST_FRAME: Final = 16 * 1024 * 1024
_CLOSE_SECONDS: Final = 1.0
_LEAVES, _COMES_BACK = 1000, 4000  # after the first, Discord forgets the session
_KEPT_STARTS: Final = 50  # of the thousand a day, for people who restart things
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 300.0
_QUERY: Final = "?v=10&encoding=json"
_AWAY: Final = "Discord's gateway could not be reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayNeeds:
    """`secure`: only an encrypted connection is given the token."""

    token: str
    intents: int
    user_agent: str
    secure: bool
    start: Callable[[float], Awaitable[GatewayStart]]
    event: Callable[[object, object, str], InboundEvent | None]
    now_us: Callable[[], int]
    dice: Callable[[], float]
    monotonic: Callable[[], float]


class Gateway:
    def __init__(self, parts: GatewayNeeds) -> None:
        self._parts = parts
        self._session = GatewaySession()
        self._heard = HeardEvents(parts.now_us)
        self._task: asyncio.Task[None] | None = None
        self._http: aiohttp.ClientSession | None = None
        self._up = asyncio.Event()
        self._acknowledged = True
        self._mends = 0
        self._failed_starts = 0
        self._not_before = 0.0
        self._why = ""
        self._unreached = 0
        self._goodbye = _COMES_BACK

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        self._heard.handled_before(position)
        if not (heard := self._heard.listened()).events:
            self._mends = 1
            await self._until(self._up.wait(), CONNECT_SECONDS)
            if not self._up.is_set():
                raise TargetUnavailable("Discord's gateway has not let us in yet")
            await self._until(self._heard.some(), timeout_seconds)
            heard = self._heard.listened()
        return heard

    async def close(self) -> None:
        self._goodbye = _LEAVES
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        session, self._http = self._http, None
        if session is not None:
            await session.close()

    async def _until(self, news: Coroutine[Any, Any, Any], timeout_seconds: float) -> None:
        """Raises what ended the connection, if that comes first."""
        hoped = asyncio.ensure_future(news)
        try:
            task = self._running()
            await asyncio.wait({task, hoped}, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hoped.cancel()
        if task.done() and not (hoped.done() and not hoped.cancelled()):
            self._task = None
            task.result()

    def _running(self) -> asyncio.Task[None]:
        if self._task is None or (self._task.done() and self._task.exception()):
            self._task = asyncio.create_task(self._live())
        return self._task

    async def _live(self) -> None:
        """Ends only by an error."""
        while True:
            try:
                await self._converse()
            except Cut as cut:
                words = str(cut)
                if not cut.resumes:
                    self._session.forget()
            finally:
                self._up.clear()
            if not self._mends or self._pause_seconds() > 0:
                raise TargetUnavailable(words)
            self._mends -= 1

    async def _converse(self) -> None:
        knows_us = bool(self._session.id)
        url = await self._url(knows_us)
        async with self._connected(url) as socket:
            interval = _interval(await self._frame(socket, CONNECT_SECONDS))
            await self._send(socket, self._greeting(knows_us))
            try:
                await _first_of(self._read(socket), self._beat(socket, interval))
            except (Cut, Barred) as end:
                self._count(knows_us, end)
                raise

    async def _url(self, knows_us: bool) -> str:
        if knows_us and self._session.resume_url and self._unreached < 2:
            return self._session.resume_url
        if wait := self._pause_seconds():
            raise TargetUnavailable(f"{self._why}; asked again in {wait:.0f} s", retry_after_seconds=wait)
        start = await self._parts.start(CONNECT_SECONDS)
        if not knows_us and start.sessions_left is not None and start.sessions_left < _KEPT_STARTS:
            raise TargetUnavailable(
                f"Discord allows this bot only {start.sessions_left} more connections for now",
                retry_after_seconds=start.reset_after_seconds,
            )
        return start.url

    def _greeting(self, knows_us: bool) -> Mapping[str, Any]:
        parts = self._parts
        return resume(parts.token, self._session) if knows_us else identify(parts.token, parts.intents)

    def _pause_seconds(self) -> float:
        return 0.0 if self._session.id else max(self._not_before - self._parts.monotonic(), 0.0)

    def _count(self, knew_us: bool, end: Cut | Barred) -> None:
        """A new session that never began costs one of the thousand."""
        barred = isinstance(end, Barred)
        if not barred and (knew_us or self._up.is_set()):
            return
        if barred:
            self._session.forget()
        self._why = str(end)
        self._failed_starts += 1
        pause = _LONGEST_PAUSE_SECONDS if barred else _FIRST_PAUSE_SECONDS * 2.0 ** min(self._failed_starts - 1, 10)
        self._not_before = self._parts.monotonic() + min(pause, _LONGEST_PAUSE_SECONDS)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            await self._take(socket, await self._frame(socket))

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, frame: Mapping[str, Any]) -> None:
        match frame.get("op"):
            case Op.DISPATCH:
                self._dispatch(frame)
            case Op.HEARTBEAT:
                await self._send(socket, heartbeat(self._session))
            case Op.HEARTBEAT_ACK:
                self._acknowledged = True
            case Op.RECONNECT:
                raise Cut("Discord's gateway asks for another connection")
            case Op.INVALID_SESSION:
                raise Cut("Discord's gateway has ended the session", resumes=frame.get("d") is True)

    def _dispatch(self, frame: Mapping[str, Any]) -> None:
        """What we cannot keep is not counted as received, so it comes again."""
        name, told, sequence = frame.get("t"), frame.get("d"), frame.get("s")
        if name == "READY":
            self._session.begin(told)
        if name in ("READY", "RESUMED"):
            self._failed_starts, self._unreached = 0, 0
            self._up.set()
        if event := self._parts.event(name, told, self._session.bot_id):
            if self._heard.is_full:
                raise Cut("more has come over Discord's gateway than can be handled")
            self._heard.add(event)
        if isinstance(sequence, int):
            self._session.sequence = sequence

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse, interval: float) -> None:
        self._acknowledged = True
        await asyncio.sleep(interval * self._parts.dice())
        while self._acknowledged:
            self._acknowledged = False
            await self._send(socket, heartbeat(self._session))
            await asyncio.sleep(interval)
        raise Cut("Discord's gateway no longer answers")

    async def _send(self, socket: aiohttp.ClientWebSocketResponse, frame: Mapping[str, Any]) -> None:
        try:
            await socket.send_str(json.dumps(frame))
        except (aiohttp.ClientError, OSError):
            raise farewell(socket.close_code) from None

    async def _frame(
        self, socket: aiohttp.ClientWebSocketResponse, timeout_seconds: float | None = None
    ) -> Mapping[str, Any]:
        try:
            received = await socket.receive(timeout_seconds)
        except TimeoutError:
            raise Cut("Discord's gateway says nothing") from None
        if received.type is not aiohttp.WSMsgType.TEXT:
            raise farewell(socket.close_code)
        try:
            frame = json.loads(received.data)
        except (ValueError, RecursionError):
            raise Cut("Discord's gateway said something unreadable") from None
        return frame if isinstance(frame, Mapping) else {}

    @asynccontextmanager
    async def _connected(self, url: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        socket = await self._open(url)
        try:
            yield socket
        finally:
            await socket.close(code=self._goodbye)

    async def _open(self, url: str) -> aiohttp.ClientWebSocketResponse:
        scheme, _, rest = url.partition("://")
        if scheme != "wss" and (self._parts.secure or scheme != "ws"):
            raise TargetUnavailable("Discord's gateway is not at an encrypted address")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._client().ws_connect(
                    f"{scheme}://{rest.partition('?')[0]}{_QUERY}",
                    headers={"User-Agent": self._parts.user_agent},
                    max_msg_size=_LARGEST_FRAME,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            self._unreached += 1
        raise TargetUnavailable(_AWAY)

    def _client(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        return self._http


def _interval(hello: Mapping[str, Any]) -> float:
    told = hello.get("d")
    milliseconds = told.get("heartbeat_interval") if isinstance(told, Mapping) else None
    if hello.get("op") != Op.HELLO or isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        raise Cut("Discord's gateway did not greet us")
    return max(float(milliseconds), 1.0) / 1000


async def _first_of(*work: Coroutine[Any, Any, None]) -> None:
    """Raises what ends the first of them; the others end with it."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
