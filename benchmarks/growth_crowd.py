"""What it costs a household that many wait at once: open questions, callers that wait for an answer, open pages."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import aiohttp
import uvloop
from chaos.described import machine
from tests.console.http import Caller
from tests.household.living import Living, living
from tests.services import databases
from tests.services.postgres import PostgresServer

from benchmarks.ask import new_word, quiet, resident_megabytes
from benchmarks.ask_house import ASKER, AskHouse, ask_house
from benchmarks.delivery import cpu_seconds
from benchmarks.growth_page import load_words, written
from benchmarks.temporary_postgres import temporary_postgres

MARK: Final = "growth_crowd"
OPEN: Final = int(os.environ.get("OPEN", "10000"))
WAITING: Final = int(os.environ.get("WAITING", "1000"))
LISTENERS: Final = int(os.environ.get("LISTENERS", "200"))
IDLE_SECONDS: Final = float(os.environ.get("IDLE", "10"))
SETTLING_SECONDS: Final = 5.0
STILL_FALLING: Final = 0.8
_MOST_STRETCHES: Final = 60
ASKING_AT_ONCE: Final = 50
_SHOWN_SECONDS, _WAIT_SECONDS = 900.0, 3600.0
CPU_GOAL, MEMORY_GOAL_MB = 0.02, 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """A moment in which nothing happens."""

    cpu: float  # of one core
    megabytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Before and after, of questions with those who wait for them, and of open pages."""

    empty: Idle
    asked: Idle
    alone: Idle
    heard: Idle


def crowd(folder: Path, server: PostgresServer) -> dict[str, Crowd]:
    found = {"SQLite": uvloop.run(_measured(folder / "crowd-sqlite", ""))}
    with databases.temporary(server.url("postgres")) as asking, databases.temporary(server.url("postgres")) as hearing:
        found["PostgreSQL"] = uvloop.run(_measured(folder / "crowd-postgres", asking, hearing))
    return found


async def _measured(home: Path, asking: str, hearing: str = "") -> Crowd:
    async with ask_house(home / "ask", asking) as house:
        empty, asked = await questions(house)
    settings = {"database_url": hearing} if hearing else {}
    async with living(home / "hear", settings, only=("sandbox", "api", "messenger", "switchboard")) as one:
        alone, heard = await listeners(one)
    return Crowd(empty=empty, asked=asked, alone=alone, heard=heard)


async def questions(house: AskHouse, many: int = OPEN, waiting: int = WAITING) -> tuple[Idle, Idle]:
    before = await idle()
    words, ids = [new_word() for _ in range(many)], list[str]()
    left, arrived = iter(words), [house.phone.expect(word) for word in words]

    async def asker() -> None:
        for word in left:
            ids.append(await house.ask(word))

    await asyncio.gather(*(asker() for _ in range(ASKING_AT_ONCE)))
    await asyncio.wait_for(asyncio.gather(*arrived), _SHOWN_SECONDS)  # until then it has work to do
    callers = [asyncio.create_task(_waits(house, one)) for one in ids[-waiting:]]
    try:
        return before, await idle()
    finally:
        await _cancelled(callers)


async def listeners(home: Living, many: int = LISTENERS) -> tuple[Idle, Idle]:
    """Pages of the console that are open, each with its stream of events; their readers are in this process, too."""
    assert home.household.sign_in is not None
    connector = aiohttp.TCPConnector(limit=0)
    async with AsyncExitStack() as open_pages:
        http = await open_pages.enter_async_context(
            aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        )
        caller = Caller(home.household.addresses["api"], http)
        cookies = await caller.sign_in(await home.household.sign_in())
        worn = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        before = await idle()
        for _ in range(many):
            stream = await open_pages.enter_async_context(http.get(caller.base + "/console/events", headers=worn))
            assert stream.status == 200, stream.status
            assert b"listening" in await stream.content.readuntil(b"\n\n")
        return before, await idle()


async def idle() -> Idle:
    await quiet()
    await settled()
    return Idle(cpu=await busy(IDLE_SECONDS), megabytes=resident_megabytes())


async def settled() -> None:
    """
    A card that has arrived is noted afterwards, and every caller that begins to wait looks once.

    So it is not idle until a stretch of time costs no less than the one before.
    """
    before = await busy(SETTLING_SECONDS)
    for _ in range(_MOST_STRETCHES):
        now = await busy(SETTLING_SECONDS)
        if now >= STILL_FALLING * before or now < CPU_GOAL:
            return
        before = now


async def busy(seconds: float) -> float:
    """The share of a core that this process took meanwhile."""
    began, cpu = time.perf_counter(), cpu_seconds()
    await asyncio.sleep(seconds)
    return (cpu_seconds() - cpu) / (time.perf_counter() - began)


async def _waits(house: AskHouse, ask_id: str) -> None:
    """For longer than is measured: callers that give up and come back all at once would be work, not rest."""
    await house.parts.asking.wait(ASKER, ask_id=ask_id, wait_seconds=_WAIT_SECONDS)


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def crowd_table(found: Mapping[str, Crowd]) -> str:
    lines = [
        "| who waits | database | CPU of a core, idle before → with them | memory they take | |",
        "|---|---|--:|--:|---|",
    ]
    for name, one in found.items():
        asked, heard = f"{OPEN:,} open questions, {WAITING:,} callers", f"{LISTENERS} open pages (both ends)"
        lines += [_line(asked, name, one.empty, one.asked), _line(heard, name, one.alone, one.heard)]
    return "\n".join(lines)


def main() -> None:
    if not OPEN:
        return
    began, load = time.perf_counter(), os.getloadavg()[0]
    with temporary_postgres() as (server, folder):
        found = crowd(folder, server)
    head = f"Made on {datetime.now(UTC):%Y-%m-%d}: {machine()}. {load_words(load)}"
    written(MARK, f"{head}\n\n{crowd_table(found)}", began)


def _line(who: str, database: str, before: Idle, after: Idle) -> str:
    more = after.megabytes - before.megabytes
    met = after.cpu < CPU_GOAL and more <= MEMORY_GOAL_MB
    cpu = f"{before.cpu:.1%} → {after.cpu:.1%}"
    return f"| {who} | {database} | {cpu} | {more:.0f} MB | {'met' if met else '**missed**'} |"
