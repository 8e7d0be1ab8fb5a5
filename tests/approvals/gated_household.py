"""A whole household with approvals on, its callers, and what its sandbox provider received."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from tests.household.living import living

from postroom.household.console import RunningHousehold
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings.peer import HttpPeer

OWNER_CHAT = "1000"
CONTACTS = [
    {"name": "Alice", "email": "alice@friends.example", "telegram_chat_id": "2000", "trusted": True},
    {"name": "Bob", "email": "bob@friends.example", "telegram_chat_id": "3000"},
]
GATED = {
    "approvals": {"enabled": True, "approvers": ["ann"]},
    "contacts": CONTACTS,
    "delivery": {"telegram_chat_interval_seconds": 0},
}


@dataclass(slots=True)
class Gated:
    household: RunningHousehold
    tokens: TokenFile
    http: aiohttp.ClientSession
    peers: dict[tuple[str, str], HttpPeer] = field(default_factory=dict)

    async def call(self, principal: Principal, part: str, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """What the tool answers, or the refusal of the server in front of it."""
        key = (str(principal), part)
        if key not in self.peers:
            token = self.tokens.token_of(principal) or self.tokens.create(principal)
            self.peers[key] = HttpPeer(part, self.household.addresses[part], token)
        try:
            return await self.peers[key].call(tool, arguments, 30)
        except PostroomError as error:
            return {"status": "refused", "error": error.message}

    async def notify(self, butler: str = "general", /, **arguments: Any) -> dict[str, Any]:
        return await self.call(Principal(Role.BUTLER, butler), butler, "notify", **arguments)

    async def decide(self, tool: str, /, *, who: Principal = OPERATOR, **arguments: Any) -> dict[str, Any]:
        return await self.call(who, "messenger", tool, **arguments)

    async def received(self, what: str) -> list[dict[str, Any]]:
        """`telegram/messages`, `telegram/reactions` or `email/messages`, as the provider has them."""
        base = self.household.addresses["sandbox"].removesuffix("/")
        async with self.http.get(f"{base}/{what}") as response:
            answer = await response.json()
        return list(answer[what.rpartition("/")[2]]) if isinstance(answer, dict) else list(answer)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(f"file:{self.household.settings.home / 'postroom.db'}?mode=ro", uri=True) as connection:
            return connection.execute(statement).fetchall()


@asynccontextmanager
async def gated_household(home: Path, *changes: Mapping[str, Any]) -> AsyncIterator[Gated]:
    async with living(home, GATED, *changes) as one:
        gated = Gated(one.household, one.tokens, one.http)
        try:
            yield gated
        finally:
            for peer in gated.peers.values():
                await peer.close()
