"""The memory and open files of a household from day to day, over a week that is lived through quickly."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop
from tests.services import databases
from tests.services.postgres import PostgresServer

from benchmarks.ask import Figures, new_word, notice, one_question, resident_megabytes
from benchmarks.ask_house import AskHouse, ask_house

DAYS: Final = 8
MESSAGES: Final = int(os.environ.get("WEEK_MESSAGES", "2000"))  # of a day: more than one a minute
QUESTIONS: Final = int(os.environ.get("WEEK_QUESTIONS", "100"))
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


async def week(house: AskHouse, messages: int = MESSAGES, questions: int = QUESTIONS) -> list[Evening]:
    """What the measurement itself notes is left out."""
    found: list[Evening] = []
    for _ in range(DAYS):
        for _ in range(messages):
            await notice(house, new_word())
        for _ in range(questions):
            await one_question(house, Figures())
        for noted in (house.phone.arrived, house.stored, house.decided):
            noted.clear()
        gc.collect()
        found.append(evening())
    return found


def evening() -> Evening:
    return Evening(megabytes=resident_megabytes(), files=len(list(Path("/proc/self/fd").iterdir())))


def week_table(found: Mapping[str, Sequence[Evening]]) -> str:
    lines = [
        "| a week | database | memory after the first day → after the last | open files | |",
        "|---|---|--:|--:|---|",
    ]
    what = f"{DAYS} days of {MESSAGES:,} messages and {QUESTIONS:,} answered questions"
    lines += [f"| {what} | {database} | {_words(days[0], days[-1])} |" for database, days in found.items()]
    return "\n".join(lines)


def _words(first: Evening, last: Evening) -> str:
    met = last.megabytes - first.megabytes <= MORE_GOAL_MB and last.files <= first.files + 2
    memory = f"{first.megabytes:.0f} → {last.megabytes:.0f} MB"
    return f"{memory} | {first.files} → {last.files} | {'met' if met else '**missed**'}"
