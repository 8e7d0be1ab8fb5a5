"""The household that the exhibits are shown in: one for each room, and the ways in that other people have."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from postroom.kernel.running import timekeeper
from tests.household.asked_household import until
from tests.household.living import LIFTED, QUICK, Living, living


class House(Living):
    """A living household, called as agents, scripts, people and providers call it."""

    async def ask(self, question: str, *, butler: str = "health", **more: Any) -> dict[str, Any]:
        asked = {"question": question, "options": ["yes", "no"], "channels": ["telegram"], "wait_seconds": 0, **more}
        return await self.call(butler, "ask", {name: value for name, value in asked.items() if value is not None})

    async def wait(self, asked: Mapping[str, Any], seconds: float = 20, *, butler: str = "health") -> dict[str, Any]:
        return await self.call(butler, "wait", {"ask_id": asked["ask_id"], "wait_seconds": seconds})

    async def rest(
        self, method: str, path: str, body: Any = None, *, who: str = "operator", **headers: str
    ) -> tuple[int, Any]:
        named = {"Authorization": f"Bearer {self.token(who)}"} | {k.replace("_", "-"): v for k, v in headers.items()}
        url = self.household.addresses["api"].removesuffix("/") + path
        async with self.http.request(method, url, json=body, headers=named) as response:
            return response.status, await response.json()

    async def answer(self, asked: Mapping[str, Any], **body: Any) -> tuple[int, Any]:
        """By a person who is signed in elsewhere, not on the phone."""
        return await self.rest("POST", f"/v1/asks/{asked['ask_id']}/answer", body)

    async def overdue(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """As if the question's time had passed; what its asker is then told."""
        with sqlite3.connect(self.settings.home / "postroom.db") as connection:
            over = "UPDATE questions SET expires_at = 1 WHERE id = ? AND status = 'open'"
            assert connection.execute(over, (asked["ask_id"],)).rowcount == 1
            due = "UPDATE moments SET due_at = 1, look_at = 1 WHERE id = ? AND reason = 'expire'"
            assert connection.execute(due, (asked["ask_id"],)).rowcount == 1
        return await self.wait(asked)

    async def noted(self, asked: Mapping[str, Any]) -> None:
        """Once the household knows that its card is there: words that answer no card in particular need one."""

        async def look() -> bool:
            with sqlite3.connect(self.settings.home / "postroom.db") as connection:
                shown = "SELECT 1 FROM presentations WHERE question_id = ? AND status = 'shown'"
                return connection.execute(shown, (asked["ask_id"],)).fetchone() is not None

        await until(look)

    async def sandbox(self, path: str, body: Any = None) -> Any:
        method = "GET" if body is None else "POST"
        async with self.http.request(method, self.played_at + path, json=body) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def shows(self, words: str, channel: str = "telegram") -> dict[str, Any]:
        """The message that says this, as soon as there is one."""

        async def look() -> dict[str, Any] | None:
            found = await self.received(channel)
            return next((one for one in found if words in str(one.get("text") or one.get("body"))), None)

        return await until(look)

    async def press_as_seen(self, card: Mapping[str, Any], button: str) -> str:
        """On a phone that still shows the card as it was; the words that the phone shows then."""
        rows = card["reply_markup"]["inline_keyboard"]
        data = next(one["callback_data"] for row in rows for one in row if one["text"] == button)
        where = {"chat_id": card["chat_id"], "message_id": card["message_id"]}
        before = await self._pressed(card)
        await self.sandbox("telegram/callback", {**where, "data": data})

        async def answered() -> list[str] | None:
            found = await self._pressed(card)
            return found if len(found) > len(before) else None

        return (await until(answered))[-1]

    async def _pressed(self, card: Mapping[str, Any]) -> list[str]:
        found = (await self.sandbox("telegram/callbacks"))["callbacks"]
        mine = [one for one in found if one["message_id"] == card["message_id"] and one["answered"]]
        return [str(one["answer"] or "") for one in sorted(mine, key=lambda one: int(one["callback_query_id"]))]

    async def saying(self, words: str, channel: str = "telegram") -> list[dict[str, Any]]:
        found = await self.received(channel)
        return [one for one in found if words in str(one.get("text") or one.get("body"))]


@asynccontextmanager
async def open_house(home: Path, *changes: Mapping[str, Any]) -> AsyncIterator[House]:
    """Its clock is looked at more often than elsewhere, so that what is over ends within the patience of a test."""
    with patch.object(timekeeper, "LOOK_SECONDS", 0.1):
        async with living(home, LIFTED, QUICK, *changes) as one:
            yield House(one.settings, one.household, one.http)


async def given_up(call: asyncio.Task[Any]) -> None:
    """The caller's client has had enough of waiting."""
    call.cancel()
    await asyncio.wait([call], timeout=20)
