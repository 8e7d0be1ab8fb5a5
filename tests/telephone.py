"""An assistant's telephone to a household in this process, and the phones of the people it knows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from postroom.household.console import RunningHousehold
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings
from postroom.settings.roster import ButlerConfig
from tests.household import living
from tests.patience import PATIENCE_SECONDS

OWNER = "agent://household/owner"
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")
GEMINI = Principal(Role.CONNECTOR, "gemini")
PEOPLE = [
    {"name": "Bob Miller", "aliases": ["Bob"], "telegram_chat_id": "2001"},
    {"name": "Maria Rossi", "telegram_chat_id": "2002"},
    {"name": "李明", "telegram_chat_id": "2003"},
    {"name": "Anna Kovács", "email": "anna.k@example.org"},
    {"name": "Anna Schmidt", "email": "anna.s@example.org"},
]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any


@dataclass(frozen=True, slots=True)
class Telephone:
    household: RunningHousehold
    session: aiohttp.ClientSession
    tokens: TokenFile

    def url(self, part: str) -> str:
        return self.household.addresses[part].removesuffix("/mcp").removesuffix("/sandbox/")

    async def call(
        self,
        method: str,
        part: str,
        path: str,
        body: Any = None,
        caller: Principal | None = OPERATOR,
        more_headers: Mapping[str, str] | None = None,
    ) -> Answer:
        headers = {"Authorization": f"Bearer {self.tokens.token_of(caller)}"} if caller else {}
        headers |= more_headers or {}
        async with self.session.request(method, self.url(part) + path, json=body, headers=headers) as response:
            text = await response.text()
            is_json = "json" in response.headers.get("content-type", "")
            return Answer(response.status, json.loads(text) if is_json else text)

    async def get(self, path: str, caller: Principal | None = OPERATOR, part: str = "api") -> Answer:
        return await self.call("GET", part, path, caller=caller)

    async def post(self, path: str, body: Any, caller: Principal | None = OPERATOR, part: str = "api") -> Answer:
        return await self.call("POST", part, path, body, caller)

    async def adapt(self, body: Mapping[str, Any], caller: Principal | None = CHATGPT) -> Answer:
        part = caller.name if caller and caller.role is Role.CONNECTOR else "chatgpt"
        return await self.post("/v1/adapt", dict(body), caller, part)

    async def phone(self, chat_id: str) -> list[dict[str, Any]]:
        found = await self.call("GET", "sandbox", f"/sandbox/telegram/messages?chat_id={chat_id}", caller=None)
        messages: list[dict[str, Any]] = found.body["messages"]
        return messages

    async def type(self, chat_id: str, text: str, reply_to: int | None = None, **how: Any) -> None:
        body = {"chat_id": chat_id, "text": text, **how} | ({"reply_to_message_id": reply_to} if reply_to else {})
        assert (await self.call("POST", "sandbox", "/sandbox/telegram/inbound", body, None)).status == 200

    async def intent(self, intent_id: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.get(f"/v1/intents/{intent_id}")).body["intent"]
        return found

    async def until(self, intent_id: str, *statuses: str) -> dict[str, Any]:
        """Follows the stream of events until the intent is as wanted; the stream wakes us, and ends by itself."""
        path = f"/v1/intents/{intent_id}/events/stream?wait_seconds={PATIENCE_SECONDS:g}"
        headers = {"Authorization": f"Bearer {self.tokens.token_of(OPERATOR)}"}
        async with self.session.get(self.url("api") + path, headers=headers) as response:
            async for line in response.content:
                if line.startswith(b"data: ") and json.loads(line[6:]).get("status") in statuses:
                    break
        found = await self.intent(intent_id)
        assert found["lifecycle_status"] in statuses, found["lifecycle_status"]
        return found


def settings_for(home: Path) -> Settings:
    return living.settings_for(
        home, living.LIFTED, {"delivery": {"telegram_chat_interval_seconds": 0}, "contacts": PEOPLE}
    )


@asynccontextmanager
async def telephone(
    settings: Settings,
    *only: str,
    roster: Sequence[ButlerConfig] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Telephone]:
    async with (
        living.started(settings, only=only, roster=roster, environment=environment) as household,
        aiohttp.ClientSession() as session,
    ):
        yield Telephone(household, session, TokenFile(settings.tokens_file))
