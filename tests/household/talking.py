"""A household whose butlers work through scripted models, and people who write to them on the sandbox's phone."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from postroom.household.store import shipped
from postroom.settings import Settings
from postroom.settings.roster import ButlerConfig, RuntimeKind
from tests.butlers.runtimes.installed import install
from tests.fakes.accounts import accounts_at
from tests.fakes.server import Fakes
from tests.household.asked_household import until
from tests.household.living import LIFTED, QUICK, Living, settings_for, started

SECONDS = 30.0
CHATS = [{"name": f"Person {chat}", "telegram_chat_id": str(chat)} for chat in range(2001, 2031)]
EVE = {"name": "Eve", "email": "eve@example.org"}
FINN = {"name": "Finn", "email": "finn@example.org"}
PEOPLE = {"contacts": [*CHATS, EVE, FINN]}


def accounts_everywhere(services: Fakes) -> dict[str, Any]:
    """With accounts at these servers, where Eve and Gus are, too."""
    eve = {**EVE, "addresses": ["slack:U7", "discord:user:7"]}
    gus = {"name": "Gus", "addresses": ["slack:U8", "discord:user:8"]}
    return {**accounts_at(services), "contacts": [*CHATS, eve, FINN, gus]}


def script(*steps: Mapping[str, Any], say: str = "Done.") -> str:
    return json.dumps({"steps": steps, "say": say})


def reply(words: str, **more: Any) -> dict[str, Any]:
    return {"call": "notify", "arguments": {"channel": "telegram", "intent": "reply", "message": words, **more}}


def roster_of(settings: Settings, models: Iterable[str], timeout_seconds: float = 300.0) -> list[ButlerConfig]:
    wanted, longest = frozenset(models), {"timeout_seconds": timeout_seconds}
    return [
        one.model_copy(
            update={
                "runtime": RuntimeKind(type="codex" if one.name in wanted else "none"),
                "butler": one.butler.model_copy(update={"runtime": one.butler.runtime.model_copy(update=longest)}),
            }
        )
        for one in shipped(settings)
    ]


@asynccontextmanager
async def talking(
    home: Path,
    folder: Path,
    *changes: Mapping[str, Any],
    models: Iterable[str] = ("general", "health"),
    path: str = "",
    timeout_seconds: float = 300.0,
) -> AsyncIterator[Talking]:
    settings = settings_for(home, LIFTED, QUICK, PEOPLE, *changes)
    environment = {"PATH": path or install(folder / "bin", ["codex"])}
    running = started(settings, roster=roster_of(settings, models, timeout_seconds), environment=environment)
    async with running as household, aiohttp.ClientSession() as http:
        with sqlite3.connect(home / "postroom.db") as connection:  # as pairing would
            connection.execute("UPDATE person_addresses SET verified_at = 1")
        yield Talking(settings, household, http)


class Talking(Living):
    async def write(self, chat: int, text: str, **more: Any) -> int:
        body = {"chat_id": chat, "text": text, **more}
        async with self.http.post(f"{self.played_at}telegram/inbound", json=body) as response:
            assert response.status == 200, await response.text()
            return int((await response.json())["message_id"])

    async def said(self, chat: int, count: int = 1) -> list[dict[str, Any]]:
        """What came to this chat, the oldest first, as soon as it is so much."""
        async with asyncio.timeout(SECONDS):
            while len(found := [one for one in await self.received() if one["chat_id"] == str(chat)]) < count:
                await asyncio.sleep(0.05)
        return sorted(found, key=lambda one: int(one["message_id"]))

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        async with self.http.post(self.played_at + path, json=body) as response:
            assert response.status == 200, await response.text()
            told: dict[str, Any] = await response.json()
            return told

    async def arrived(self, channel: str, words: str) -> dict[str, Any]:
        async with asyncio.timeout(SECONDS):
            while True:
                for one in await self.received(channel):
                    if words in str(one.get("text") or one.get("body")):
                        return one
                await asyncio.sleep(0.05)

    async def typed(self) -> list[dict[str, Any]]:
        async with self.http.get(f"{self.played_at}telegram/actions") as response:
            actions: list[dict[str, Any]] = (await response.json())["actions"]
            return actions

    async def shown(self, thread: str, status: str) -> None:
        """Until people see this last of the app in a thread in Slack."""
        async with asyncio.timeout(SECONDS):
            while True:
                async with self.http.get(f"{self.played_at}slack/statuses") as response:
                    seen: list[dict[str, Any]] = (await response.json())["statuses"]
                if [one["status"] for one in seen if one["thread_ts"] == thread][-1:] == [status]:
                    return
                await asyncio.sleep(0.05)

    async def kept(self, chat: int | str, *statuses: str) -> list[dict[str, Any]]:
        """The stored messages of a chat, as soon as they are in these states."""
        async with asyncio.timeout(SECONDS):
            while True:
                found = self.messages(chat)
                if [one["status"] for one in found] == list(statuses):
                    return found
                await asyncio.sleep(0.05)

    def messages(self, chat: int | str) -> list[dict[str, Any]]:
        rows = self.rows("(select *, received_at as created_at from inbound_messages)")
        return [row for row in rows if row["place"] == str(chat)]


# Files that are sent with words, and what becomes of them.
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def sent(content: bytes, name: str = "bill.png", **more: Any) -> dict[str, Any]:
    return {"name": name, "data": base64.b64encode(content).decode(), **more}


async def read(house: Talking, upload_id: str, who: str) -> tuple[int, bytes]:
    url = f"{house.household.addresses['api']}/v1/uploads/{upload_id}"
    async with house.http.get(url, headers={"Authorization": f"Bearer {house.token(who)}"}) as response:
        return response.status, await response.read()


def told(house: Talking, kept: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the files, what the session of this message is given to read."""
    [prompt] = [row["prompt"] for row in house.rows("sessions") if row["request_id"] == kept["id"]]
    found, _ = json.JSONDecoder().raw_decode(prompt[prompt.index("{", prompt.index("Context, as data:")) :])
    files: list[dict[str, Any]] = found["files"]
    return files


async def answered(house: Talking, ask_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        seen = await house.call("health", "wait", {"ask_id": ask_id, "wait_seconds": 0})
        return seen if seen["status"] == "answered" else None

    return await until(look)
