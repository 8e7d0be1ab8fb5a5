"""Slack's Socket Mode: websockets that Slack renews from time to time, read as one stream of frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import structlog

from postroom.domain.errors import TargetUnavailable

CONNECT_SECONDS: Final = 10.0
_ACK_SECONDS: Final = 5.0
_HEARTBEAT_SECONDS: Final = 20.0
_GOODBYE: Final = aiohttp.ClientWSTimeout(ws_close=1.0)
_MOST_UNREAD: Final = 1000
_MOST_LEAVING: Final = 2
_log = structlog.get_logger("postroom.slack")


@dataclass(slots=True, eq=False)
class SlackConnection:
    """`is_leaving`: Slack will close it soon, and until then it may still bring something."""

    socket: aiohttp.ClientWebSocketResponse
    is_leaving: bool = False
    reader: asyncio.Task[None] | None = field(default=None, repr=False)

    async def close(self) -> None:
        await self.socket.close()
        if self.reader is not None:
            self.reader.cancel()
            await asyncio.gather(self.reader, return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackFrame:
    """What one connection brought; None says that it has ended."""

    connection: SlackConnection
    content: Mapping[str, Any] | None


class SocketMode:
    """`open_url` asks Slack where to connect; the address it gives is good once, and a secret."""

    def __init__(self, open_url: Callable[[], Awaitable[str]]) -> None:
        self._open_url = open_url
        self._session: aiohttp.ClientSession | None = None
        self._connections: list[SlackConnection] = []  # the leaving ones, too
        self._frames: asyncio.Queue[SlackFrame] = asyncio.Queue(_MOST_UNREAD)

    async def connect(self) -> bool:
        """Unless there is a connection that will stay; returns whether one had to be opened."""
        if any(not one.is_leaving for one in self._connections):
            return False
        url = await self._open_url()
        connection = SlackConnection(await self._dial(url))
        connection.reader = asyncio.create_task(self._read(connection))
        self._connections.append(connection)
        return True

    async def renew(self, connection: SlackConnection) -> bool:
        """A new one is opened before the old one ends."""
        connection.is_leaving = True
        opened = await self.connect()
        leaving = [one for one in self._connections if one.is_leaving]
        for old in leaving[:-_MOST_LEAVING]:
            await self.drop(old)
        return opened

    async def drop(self, connection: SlackConnection) -> None:
        self._connections = [one for one in self._connections if one is not connection]
        await connection.close()

    async def next(self, timeout_seconds: float) -> SlackFrame | None:
        """None when nothing came in time."""
        if not self._frames.empty():
            return self._frames.get_nowait()
        if timeout_seconds <= 0:
            return None
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._frames.get()
        except TimeoutError:
            return None

    @property
    def is_empty(self) -> bool:
        return self._frames.empty()

    async def acknowledge(self, connection: SlackConnection, envelope_id: str) -> None:
        """Where the envelope came from, or else where we are connected now. What gets lost is sent again by Slack."""
        for one in (connection, *self._connections):
            if not one.socket.closed and await _said(one.socket, {"envelope_id": envelope_id}):
                return
        _log.info("slack.unacknowledged")

    async def close(self) -> None:
        for connection in tuple(self._connections):
            await self.drop(connection)
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _dial(self, url: str) -> aiohttp.ClientWebSocketResponse:
        """The library's own errors name the address, so none of them gets out."""
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._session.ws_connect(url, heartbeat=_HEARTBEAT_SECONDS, timeout=_GOODBYE)
        except (aiohttp.ClientError, OSError, ValueError):  # a TimeoutError is an OSError
            pass
        raise TargetUnavailable("Slack's event connection could not be opened")

    async def _read(self, connection: SlackConnection) -> None:
        try:
            async for message in connection.socket:
                if message.type is aiohttp.WSMsgType.TEXT and (content := _parsed(message.data)) is not None:
                    await self._frames.put(SlackFrame(connection=connection, content=content))
        finally:
            if connection in self._connections:
                await self._frames.put(SlackFrame(connection=connection, content=None))


async def _said(socket: aiohttp.ClientWebSocketResponse, words: Mapping[str, str]) -> bool:
    try:
        async with asyncio.timeout(_ACK_SECONDS):
            await socket.send_json(words)
    except (aiohttp.ClientError, OSError, RuntimeError):
        return False
    return True


def _parsed(data: str) -> Mapping[str, Any] | None:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, Mapping) else None
