"""A household's API port over real HTTP, and people who call it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from tests.household.living import started
from tests.inbox.sending import sent

from postroom.household.console import RunningHousehold
from postroom.inbox.inbox import Inbox
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.load import load

NO_PORTS = {
    f"ports.{part}": 0 for part in ("api", "messenger", "switchboard", "sandbox", "sandbox_smtp", "sandbox_imap")
}


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: Any

    @property
    def wrong(self) -> list[str]:
        """The fields a 422 complains about."""
        return [problem["field"] for problem in self.body["error"]["fields"]]


@dataclass(frozen=True, slots=True)
class Api:
    household: RunningHousehold
    tokens: TokenFile
    http: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return self.household.addresses["api"]

    @property
    def inbox(self) -> Inbox:
        assert self.household.inbox is not None
        return self.household.inbox

    def token(self, user_id: str = "ada", role: Role = Role.USER) -> str:
        principal = Principal(role, user_id)
        return self.tokens.token_of(principal) or self.tokens.create(principal)

    def headers(self, user_id: str = "ada", role: Role = Role.USER) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token(user_id, role)}"}

    async def call(
        self, method: str, path: str, *, user: str = "ada", role: Role = Role.USER, **options: Any
    ) -> Response:
        headers = {**self.headers(user, role), **options.pop("headers", {})}
        async with self.http.request(method, f"/notifications{path}", headers=headers, **options) as response:
            return Response(response.status, await response.json() if response.content_length else None)

    async def send(self, message: str = "Hello", user: str = "ada", **fields: Any) -> str:
        answer = await sent(self.inbox, message, user, **fields)
        assert answer["success"], answer
        return str(answer["notification_id"])

    def forget(self) -> None:
        """From outside: an inbox without a past for the next test, in a household that runs on."""
        with closing(sqlite3.connect(self.household.settings.home / "postroom.db")) as connection, connection:
            inbox = ("email_confirmations", "notification_preferences", "notifications")
            for table in (*inbox, "notices", "notice_sends", "attention_people", "attention_log", "moments"):
                connection.execute(f"DELETE FROM {table}")


@asynccontextmanager
async def running_api(home: Path, **overrides: Any) -> AsyncIterator[Api]:
    settings, _ = load(
        {}, {"home": str(home), "inbox.hourly_cap": 1000, "inbox.email_enabled": False, **NO_PORTS, **overrides}
    )
    async with started(settings, only=("api",)) as household:
        timeout = aiohttp.ClientTimeout(total=20)
        async with aiohttp.ClientSession(household.addresses["api"], timeout=timeout) as http:
            yield Api(household, TokenFile(settings.tokens_file), http)
