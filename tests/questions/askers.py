"""A household whose butlers, programs and people ask and answer over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.household.living import LIFTED, QUICK, settings_for
from tests.patience import PATIENCE_SECONDS
from tests.telephone import Answer, Telephone, telephone

from postroom.household import household
from postroom.household.questions import AskingParts
from postroom.kernel.guard.tokens import SessionTokens, TokenFile
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role, SessionId

HEALTH = Principal(Role.BUTLER, "health")
GENERAL = Principal(Role.BUTLER, "general")
ANNA = Principal(Role.PERSON, "anna")
BEN = Principal(Role.PERSON, "ben")
OLGA = Principal(Role.PERSON, OWNER)
USER = Principal(Role.USER, "ursula")
PROGRAM = Principal(Role.PROGRAM, "backup", person="anna")
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")
MODERN, LEGACY = "2026-07-28", "legacy"
SHIP: dict[str, Any] = {"question": "Ship it?", "options": ["yes", "no"], "wait_seconds": 0}


@dataclass(frozen=True, slots=True)
class Askers:
    line: Telephone
    sessions: Mapping[str, SessionTokens]  # of each butler

    def session_token(self, butler: str) -> str:
        return self.sessions[butler].mint(SessionId("s-1"))

    @property
    def parts(self) -> AskingParts:
        assert self.line.household.asking is not None
        return self.line.household.asking

    def token(self, who: Principal) -> str:
        return self.line.tokens.token_of(who) or ""

    @asynccontextmanager
    async def client(self, part: str, who: Principal | str, mode: str = MODERN, **more: Any) -> AsyncIterator[Client]:
        token = who if isinstance(who, str) else self.token(who)
        url = f"{self.line.url(part)}/mcp"
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, **more) as one,
        ):
            yield one

    async def tool(
        self, name: str, arguments: Mapping[str, Any], who: Principal = HEALTH, part: str | None = None
    ) -> dict[str, Any]:
        async with self.client(part or who.name, who) as client:
            return structured(await client.call_tool(name, dict(arguments)))

    async def ask(self, who: Principal = HEALTH, part: str | None = None, **more: Any) -> dict[str, Any]:
        return await self.tool("ask", {**SHIP, **more}, who, part)

    async def post(self, path: str, body: Any, who: Principal | None = HEALTH, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.line.call("POST", "api", path, body, who, named)

    async def get(self, path: str, who: Principal | None = HEALTH) -> Answer:
        return await self.line.get(path, who)

    async def answer(self, ask_id: str, body: Any, who: Principal | None = OPERATOR) -> Answer:
        return await self.post(f"/v1/asks/{ask_id}/answer", body, who)

    async def until_waiting(self, ask_id: str) -> None:
        """Until a call of this household waits for it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while ask_id not in self.parts.bells._of:
                await asyncio.sleep(0.01)

    async def until_left(self, ask_id: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while ask_id in self.parts.bells._of:
                await asyncio.sleep(0.01)


def structured(result: Any) -> dict[str, Any]:
    assert result.structured_content is not None, result.content
    found: dict[str, Any] = result.structured_content
    return found


@asynccontextmanager
async def askers(home: Path, more: Mapping[str, Any] | None = None) -> AsyncIterator[Askers]:
    settings = settings_for(home, LIFTED, QUICK, more or {})
    tokens = TokenFile(settings.tokens_file)
    for one in (ANNA, BEN, OLGA, USER, PROGRAM):
        tokens.create(one)
    sessions: dict[str, SessionTokens] = {}

    def noted(butler: str, verifier: TokenFile) -> SessionTokens:
        sessions[butler] = SessionTokens(butler, verifier)
        return sessions[butler]

    with patch.object(household, "SessionTokens", noted):
        async with telephone(settings) as line:
            yield Askers(line, sessions)
