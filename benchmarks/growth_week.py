"""The memory and open files of a household from day to day, over a week that is lived through quickly."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import uvloop
from chaos.described import machine
from tests.services import databases
from tests.services.postgres import PostgresServer

from benchmarks.ask import Figures, new_word, one_question, resident_megabytes
from benchmarks.ask_house import AskHouse, ask_house
from benchmarks.growth_page import load_words, written
from benchmarks.temporary_postgres import temporary_postgres
from postroom.message.outgoing import Outgoing

DAYS: Final = 8
MESSAGES: Final = int(os.environ.get("WEEK_MESSAGES", "2000"))  # of a day: more than one a minute
MARK: Final = "growth_week"
QUESTIONS: Final = int(os.environ.get("WEEK_QUESTIONS", "100"))
REMEMBERED: Final = 10_000  # outcomes that a household keeps at hand: full before the first day, for what grows after
CHATS: Final = 20
_ARRIVED_SECONDS: Final = 60.0
MORE_GOAL_MB: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evening:
    """What the process has at the end of a day."""

    megabytes: float
    files: int


def weeks(folder: Path, server: PostgresServer) -> dict[str, Sequence[Evening]]:
    found = {"SQLite": uvloop.run(_lived(folder / "week-sqlite", ""))}
    with databases.temporary(server.url("postgres")) as url:
        found["PostgreSQL"] = uvloop.run(_lived(folder / "week-postgres", url))
    return found


async def _lived(home: Path, url: str) -> Sequence[Evening]:
    async with ask_house(home, url) as house:
        return await week(house)


async def week(
    house: AskHouse, messages: int = MESSAGES, questions: int = QUESTIONS, before: int = REMEMBERED
) -> list[Evening]:
    """What the measurement itself notes is left out."""
    found: list[Evening] = []
    await _messages(house, before)
    for _ in range(DAYS):
        await _messages(house, messages)
        for _ in range(questions):
            await one_question(house, Figures())
        for noted in (house.phone.arrived, house.stored, house.decided):
            noted.clear()
        gc.collect()
        found.append(evening())
    return found


async def _messages(house: AskHouse, many: int) -> None:
    """To several chats, because in one they go one after the other, and a question's card after all of them."""
    for first in range(0, many, CHATS):
        await asyncio.gather(*(_message(house, str(chat)) for chat in range(1, min(CHATS, many - first) + 1)))


async def _message(house: AskHouse, chat: str) -> None:
    word = new_word()
    arrived = house.phone.expect(word)
    outgoing = Outgoing(origin_butler="health", channel="telegram", message=f"{word} Shipped.", recipient=chat)
    await house.plane.submit(outgoing, request_id=word, wait_seconds=0)
    await asyncio.wait_for(arrived, _ARRIVED_SECONDS)


def evening() -> Evening:
    return Evening(megabytes=resident_megabytes(), files=len(list(Path("/proc/self/fd").iterdir())))


def week_table(found: Mapping[str, Sequence[Evening]]) -> str:
    lines = [
        "| a week | database | memory after the first day → after the last | an hour | open files | |",
        "|---|---|--:|--:|--:|---|",
    ]
    what = f"{DAYS} days of {MESSAGES:,} messages and {QUESTIONS:,} answered questions"
    lines += [f"| {what} | {database} | {_words(days[0], days[-1])} |" for database, days in found.items()]
    return "\n".join(lines)


def main() -> None:
    if not MESSAGES:
        return
    began, load = time.perf_counter(), os.getloadavg()[0]
    with temporary_postgres() as (server, folder):
        lived = weeks(folder, server)
    head = f"Made on {datetime.now(UTC):%Y-%m-%d}: {machine()}. {load_words(load)}"
    written(MARK, f"{head}\n\n{week_table(lived)}", began)


def _words(first: Evening, last: Evening) -> str:
    more = last.megabytes - first.megabytes
    met = more <= MORE_GOAL_MB and last.files <= first.files + 2
    memory = f"{first.megabytes:.0f} → {last.megabytes:.0f} MB | {more / (24 * (DAYS - 1)):+.2f} MB"
    return f"{memory} | {first.files} → {last.files} | {'met' if met else '**missed**'}"
