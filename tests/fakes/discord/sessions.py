"""Sessions of bots at the Gateway: each event has a number in each, and is kept for those who come back."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.discord.objects import is_for_the_bot, without_words

Event = tuple[int, str, dict[str, Any]]
_SERVER_MESSAGES, _DIRECT_MESSAGES, _CONTENT = 1 << 9, 1 << 12, 1 << 15


@dataclass(slots=True, kw_only=True)
class BotSession:
    id: str
    token: str = field(repr=False)
    intents: int
    socket: web.WebSocketResponse | None = None
    sequence: int = 0
    events: list[Event] = field(default_factory=list)

    async def tell(self, name: str, told: dict[str, Any]) -> None:
        self.sequence += 1
        event = (self.sequence, name, told)
        self.events.append(event)
        if self.socket is not None:
            await _send(self.socket, event)

    async def come_back(self, socket: web.WebSocketResponse, sequence: int) -> None:
        """What came since then first, and in order, however much comes meanwhile."""
        self.socket = None
        while missed := [event for event in self.events if event[0] > sequence]:
            for event in missed:
                await _send(socket, event)
                sequence = event[0]
        self.socket = socket


class BotSessions:
    def __init__(self) -> None:
        self._sessions: dict[str, BotSession] = {}

    def begin(self, token: str, intents: int) -> BotSession:
        session = BotSession(id=secrets.token_hex(16), token=token, intents=intents)
        self._sessions[session.id] = session
        return session

    def find(self, session_id: str, token: str) -> BotSession | None:
        session = self._sessions.get(session_id)
        return session if session is not None and session.token == token else None

    def leave(self, session: BotSession, *, for_good: bool) -> None:
        """A bot that says goodbye has no session to come back to."""
        session.socket = None
        if for_good:
            self._sessions.pop(session.id, None)

    async def tell(self, name: str, told: dict[str, Any]) -> None:
        for session in list(self._sessions.values()):
            if (heard := _heard(session.intents, name, told)) is not None:
                await session.tell(name, heard)


async def _send(socket: web.WebSocketResponse, event: Event) -> None:
    number, name, told = event
    if not socket.closed:
        with suppress(ConnectionError):
            await socket.send_str(json.dumps({"op": 0, "t": name, "s": number, "d": told}))


def _heard(intents: int, name: str, told: dict[str, Any]) -> dict[str, Any] | None:
    """What a bot with these intents is told; None: nothing."""
    if name != "MESSAGE_CREATE":
        return told
    if not intents & (_SERVER_MESSAGES if "guild_id" in told else _DIRECT_MESSAGES):
        return None
    return told if intents & _CONTENT or is_for_the_bot(told) else without_words(told)
