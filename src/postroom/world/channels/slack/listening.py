"""Hear what people do at Slack; an envelope is acknowledged once what it brought has been handled, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.errors import TargetUnavailable
from postroom.domain.inbound_message import InboundEvent, Listened
from postroom.world.channels.slack.socket_mode import SlackConnection, SlackFrame, SocketMode

MOST_AT_ONCE: Final = 20  # they are handled one after the other, and Slack waits three seconds for each
_MOST_RENEWALS: Final = 3
_FOR_GOOD: Final[Mapping[str, str]] = {
    "link_disabled": "Socket Mode is turned off for this Slack app",
    "too_many_websockets": "too many programs listen for this Slack app",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnhandledEnvelope:
    """Given out, perhaps several times, until a look beyond its position says that it was handled."""

    position: int
    envelope_id: str
    connection: SlackConnection
    event: InboundEvent


class SlackListening:
    """Positions are microseconds since 1970, never below one that was given before, so they grow over restarts."""

    def __init__(
        self, sockets: SocketMode, read: Callable[[Mapping[str, Any]], InboundEvent | None], now_us: Callable[[], int]
    ) -> None:
        self._sockets = sockets
        self._read = read
        self._now_us = now_us
        self._unhandled: list[UnhandledEnvelope] = []
        self._last = 0

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        self._last = max(self._last, position or 0)
        await self._acknowledge(position or 0)
        if not self._unhandled:
            await self._sockets.connect()
            await self._wait(timeout_seconds)
        return self._listened()

    async def _acknowledge(self, position: int) -> None:
        handled = [one for one in self._unhandled if one.position < position]
        self._unhandled = [one for one in self._unhandled if one.position >= position]
        for one in handled:
            await self._sockets.acknowledge(one.connection, one.envelope_id)

    async def _wait(self, timeout_seconds: float) -> None:
        """Until something came; then whatever came with it."""
        clock = asyncio.get_running_loop().time
        deadline, renewals = clock() + timeout_seconds, 0
        while len(self._unhandled) < MOST_AT_ONCE:
            frame = await self._sockets.next(0.0 if self._unhandled else deadline - clock())
            if frame is None:
                return
            renewals += await self._take(frame)
            if renewals > _MOST_RENEWALS:
                raise TargetUnavailable("Slack closes its event connection again and again")

    async def _take(self, frame: SlackFrame) -> bool:
        """Whether another connection had to be opened."""
        content = frame.content
        if content is None:
            await self._sockets.drop(frame.connection)
            return await self._sockets.connect()
        if content.get("type") == "disconnect":
            return await self._renew(frame.connection, str(content.get("reason")))
        await self._keep(frame.connection, content)
        return False

    async def _renew(self, connection: SlackConnection, reason: str) -> bool:
        if words := _FOR_GOOD.get(reason):
            await self._sockets.drop(connection)
            raise TargetUnavailable(words)
        return await self._sockets.renew(connection)

    async def _keep(self, connection: SlackConnection, content: Mapping[str, Any]) -> None:
        """What is for nobody to handle is done with at once, such as a command or somebody's edit."""
        envelope_id = content.get("envelope_id")
        if not isinstance(envelope_id, str):
            return
        event = self._read(content)
        if event is None:
            await self._sockets.acknowledge(connection, envelope_id)
            return
        self._last = max(self._last + 1, self._now_us())
        kept = UnhandledEnvelope(position=self._last, envelope_id=envelope_id, connection=connection, event=event)
        self._unhandled.append(kept)

    def _listened(self) -> Listened:
        events = tuple(one.event for one in self._unhandled)
        position = self._unhandled[-1].position + 1 if self._unhandled else None
        return Listened(events=events, position=position, everything=self._sockets.is_empty)
