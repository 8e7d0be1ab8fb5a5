"""Every loop of a running household goes on after a failure, and health and doctor say which one fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postroom.cli.doctor.checks import look_at_loops
from postroom.household import household
from postroom.household.wiring.store import shipped
from postroom.kernel.running.loop import Look, Loop, Loops
from tests.household.living import LIFTED, PORTS, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port

_BUTLERS = ("general", "health", "messenger", "switchboard")
APPROVALS = {"approvals": {"enabled": True, "ask_owner": False}}
LOOPS = {
    "approvals",
    "attention",
    "attention_audit",
    "clock",
    "console_changes",
    "dispatcher",
    "conversations",
    "inbound:email",
    "inbound:forgotten",
    "inbound:telegram",
    "inbox_emails",
    "inbox_feed",
    "intents",
    "last_use",
    "notices",
    "people",
    "question_news",
    "sign_in_links",
    "question_times",
    "questions",
    "worker:pulse",
    *(f"heartbeat:{name}" for name in _BUTLERS if name != "switchboard"),
    *(f"resume:{name}" for name in _BUTLERS),
    *(f"scheduler:{name}" for name in _BUTLERS if name != "messenger"),
    *(f"sessions:{name}" for name in _BUTLERS),
}


class StumblingLoops(Loops):
    """The first look of each loop fails, whichever loops there are; `looks` counts those after it."""

    looks: dict[str, int]

    def running(self, name: str, look: Look, **options: Any) -> AbstractAsyncContextManager[Loop]:
        self.looks = {**getattr(self, "looks", {}), name: -1}

        async def stumble() -> int | None:
            self.looks[name] += 1
            if not self.looks[name]:
                raise LookupError("on purpose")
            return await look()

        return super().running(name, stumble, **options)


@pytest.mark.requirement("house:one-loop")
async def test_a_failure_in_any_loop_of_a_household_ends_none_of_them(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(household, "Loops", StumblingLoops)
    async with living(home, LIFTED, QUICK, APPROVALS, {"database_url": postgres_url}) as alive:
        loops = alive.household.loops
        assert isinstance(loops, StumblingLoops)
        assert {loop.name for loop in loops.all} == LOOPS
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not all(looks >= 1 for looks in loops.looks.values()):
                await asyncio.sleep(0.02)

        assert (await alive.notify())["status"] == "ok"
        figures = await _get(alive, "/metrics")
        assert {name for name in LOOPS if f'kind="LookupError",loop="{name}"' in figures} == LOOPS


async def test_health_and_doctor_name_the_loop_that_fails_until_it_works_again(home: Path, postgres_url: str) -> None:
    ports = {name: free_port() for name in PORTS}
    async with living(home, LIFTED, QUICK, {"database_url": postgres_url, "ports": ports}) as alive:
        roster = shipped(alive.settings)
        assert (await _health(alive, "api"), await look_at_loops(alive.settings, roster)) == (
            {"status": "ok", "part": "api", "household": alive.settings.household_id},
            [],
        )
        async with _without_emails(postgres_url):
            _wake(alive, "inbox_emails")
            told = await _until(alive, "degraded")

            [loop] = told["loops"]
            assert (loop["loop"], loop["error"]) == ("inbox_emails", "UndefinedTableError")
            assert loop["failures"] >= 1 and loop["since"].endswith("Z")
            assert (await _health(alive, "health"))["status"] == "degraded"
            [finding] = await look_at_loops(alive.settings, roster)
            assert (finding.subject, finding.ok) == ("loop inbox_emails", False)
            assert "(UndefinedTableError)" in finding.detail
            assert ", first just now" in finding.detail or " ago (" in finding.detail

        assert await _until(alive, "ok") == {
            "status": "ok",
            "part": "api",
            "household": alive.settings.household_id,
        }


@asynccontextmanager
async def _without_emails(url: str) -> AsyncIterator[None]:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("alter table shared.deferred_emails rename to elsewhere")
        yield
    finally:
        await connection.execute("alter table if exists shared.elsewhere rename to deferred_emails")
        await connection.close()


def _wake(alive: Living, name: str) -> None:
    [loop] = [one for one in alive.household.loops.all if one.name == name]
    loop.wake.ring()


async def _until(alive: Living, status: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (told := await _health(alive, "api"))["status"] != status:
            await asyncio.sleep(0.02)
        return told


async def _health(alive: Living, part: str) -> dict[str, Any]:
    url = alive.household.addresses[part].removesuffix("/mcp")
    async with alive.http.get(f"{url}/health") as response:
        assert response.status == 200
        told: dict[str, Any] = await response.json()
        return told


async def _get(alive: Living, path: str) -> str:
    async with alive.http.get(alive.household.addresses["api"] + path) as response:
        return await response.text()
