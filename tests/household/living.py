"""A whole household in this process, on free ports with its sandbox, and a way to talk to every part of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from postroom.attention.attention import Attention
from postroom.household.console import RunningHousehold
from postroom.household.household import running
from postroom.household.store import parts_of
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Ports, Settings
from postroom.settings.peer import HttpPeer
from postroom.settings.roster import ButlerConfig
from tests.patience import PATIENCE_SECONDS
from tests.services.ready_file import ready_file

PORTS = tuple(Ports.model_fields)
LIFTED = {"limits": {"global_per_minute": 10**6, "recipient_per_minute": 10**6, "channels": {"telegram.bot": 10**6}}}
ALL_DAY = [{"from": "00:00", "until": "12:00"}, {"from": "12:00", "until": "00:00"}]
ASKING = {"approvals": {"enabled": True}}
QUICK = {"delivery": {"telegram_chat_interval_seconds": 0}, "retry": {"base_seconds": 0.01, "jitter": 0}}


@dataclass(frozen=True, slots=True)
class Living:
    settings: Settings
    household: RunningHousehold
    http: aiohttp.ClientSession

    @property
    def tokens(self) -> TokenFile:
        return TokenFile(self.settings.tokens_file)

    @property
    def played_at(self) -> str:
        """Where the person's side is: the household's own sandbox, or the servers that its accounts are at."""
        own = self.household.addresses.get("sandbox")
        return own or f"{self.settings.telegram.model_dump()['api_base_url']}/sandbox/"

    @property
    def attention(self) -> Attention:
        assert self.household.attention is not None
        return self.household.attention

    def token(self, who: str | Principal) -> str:
        """The operator's, that of a butler by its name, or of anybody else, who is given one."""
        if isinstance(who, Principal):
            return self.tokens.token_of(who) or self.tokens.create(who)
        return self.tokens.token_of(OPERATOR if who == "operator" else Principal(Role.BUTLER, who)) or ""

    async def api(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        who: str | Principal = "operator",
        token: str = "",
        key: str | None = None,
    ) -> tuple[int, Any]:
        """What the API answers to this caller, or to this token."""
        headers = {"Authorization": f"Bearer {token or self.token(who)}"} | ({"Idempotency-Key": key} if key else {})
        url = self.household.addresses["api"].rstrip("/") + path
        async with self.http.request(method, url, json=body, headers=headers) as response:
            return response.status, await response.json()

    async def call(
        self, part: str, tool: str, arguments: Mapping[str, Any], *, caller: str | None = None
    ) -> dict[str, Any]:
        url = self.household.addresses[part].removesuffix("/mcp") + "/mcp"
        peer = HttpPeer(part, url, self.token(caller or part))
        try:
            return await peer.call(tool, arguments, 60)
        finally:
            await peer.close()

    async def notify(self, *, butler: str = "health", **arguments: Any) -> dict[str, Any]:
        return await self.call(butler, "notify", {"channel": "telegram", "message": "Hello", **arguments})

    async def fault(self, **fault: Any) -> None:
        async with self.http.post(self.played_at + "faults", json=fault) as response:
            assert response.status == 200, await response.text()

    async def received(self, channel: str = "telegram") -> list[dict[str, Any]]:
        async with self.http.get(self.played_at + f"{channel}/messages?limit=500") as response:
            messages: list[dict[str, Any]] = (await response.json())["messages"]
            return messages

    async def settled(self) -> None:
        """Once nothing is under way any more, so that the next fault meets the next message and no earlier one."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while {"pending", "in_progress"} & {row["status"] for row in self.rows("delivery_requests")}:
                await asyncio.sleep(0.02)

    async def texts(self) -> list[str]:
        return [message["text"] for message in await self.received()]

    async def traced(self, request_id: str) -> dict[str, Any]:
        """As the owner reads it."""
        trace: dict[str, Any] = (await self.api("GET", f"/v1/deliveries/{request_id}/trace"))[1]["trace"]
        return trace

    def rows(self, table: str) -> list[dict[str, Any]]:
        """As another process reads them."""
        with sqlite3.connect(self.settings.home / "postroom.db") as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY created_at, id")]


def settings_for(home: Path, *changes: Mapping[str, Any]) -> Settings:
    values: dict[str, Any] = {"home": home, "ports": dict.fromkeys(PORTS, 0)}
    for change in changes:
        for name, value in change.items():
            values[name] = {**values.get(name, {}), **value} if isinstance(value, Mapping) else value
    return Settings.model_validate(values)


@asynccontextmanager
async def living(home: Path, *changes: Mapping[str, Any], only: Iterable[str] = ()) -> AsyncIterator[Living]:
    settings = settings_for(home, *changes)
    async with started(settings, only=only) as household, aiohttp.ClientSession() as http:
        yield Living(settings, household, http)


@asynccontextmanager
async def started(
    settings: Settings,
    *,
    only: Iterable[str] = (),
    roster: Sequence[ButlerConfig] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningHousehold]:
    """In a task of its own, because a fixture may be set up and torn down in different ones."""
    if settings.database.startswith("sqlite") and settings.home.is_dir():
        ready_file(settings.home / "postroom.db")
    parts = [part for part in parts_of(settings) if not only or part in only]
    up: asyncio.Future[RunningHousehold] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()

    async def live() -> None:
        try:
            async with running(settings, parts, roster, environment) as household:
                up.set_result(household)
                await stop.wait()
        except Exception as error:
            if up.done():
                raise
            up.set_exception(error)

    task = asyncio.create_task(live())
    try:
        yield await up
    finally:
        stop.set()
        await task
