"""How long everything takes that a household asks of its database, while its past grows from ten thousand deliveries."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import uvloop
from chaos.report import machine

from benchmarks.growth_crowd import Crowd, crowd, crowd_table
from benchmarks.growth_looks import Asked, Look
from benchmarks.growth_rows import EVERY_MS, FILLINGS, begin, fill
from benchmarks.peers.table import write_between
from benchmarks.plane import opened
from benchmarks.temporary_postgres import temporary_postgres
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase

SIZES: Final = tuple(int(one) for one in os.environ.get("ROWS", "10000,1000000,5000000").split(","))
ROUNDS: Final = int(os.environ.get("ROUNDS", "3"))
LOOKS: Final = 15  # in a round; fewer of what takes long
GOAL: Final = 1.5
NOISE_MS: Final = 0.3  # a difference below this is not seen by anybody, and not measured reliably
_LONG_SECONDS: Final = 1.0  # in a round, for one kind of look
_AT_ONCE: Final = 50_000
PAGE: Final = Path(__file__).parents[1] / "docs" / "explanation" / "scaling.md"
BEGIN: Final = "<!-- written by `make bench ARGS=growth`: begin -->"
END: Final = "<!-- written by `make bench ARGS=growth`: end -->"

Medians = Mapping[str, float]  # milliseconds, by the name of the look


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """One line of the table."""

    name: str
    milliseconds: Sequence[float]  # at each size

    @property
    def ratios(self) -> list[float]:
        return [one / self.milliseconds[0] for one in self.milliseconds[1:]]

    @property
    def is_met(self) -> bool:
        first = self.milliseconds[0]
        return all(one <= GOAL * first or one - first <= NOISE_MS for one in self.milliseconds[1:])


async def grow(url: str, sizes: Sequence[int], rounds: int = ROUNDS) -> list[Grown]:
    now_ms = time.time_ns() // 1_000_000
    async with opened(url) as (database, ledger):
        await database.write(partial(begin, now_ms=now_ms))
        found, stored = [], 0
        for size in sizes:
            await lengthen(database, stored, size, now_ms)
            stored = size
            found.append(await medians(Asked(database=database, ledger=ledger, now_us=now_ms * 1000, size=size).looks(), rounds))
    return [Grown(name=name, milliseconds=[one[name] for one in found]) for name in found[0]]


async def lengthen(database: Database, stored: int, size: int, now_ms: int) -> None:
    """More past behind the same present."""
    for first in range(stored + 1, size + 1, _AT_ONCE):
        last = min(first + _AT_ONCE - 1, size)
        for one in FILLINGS:
            await database.write(partial(fill, filling=one, first=first, last=last, now_ms=now_ms))
    if isinstance(database, PostgresDatabase):  # as it does by itself after a while
        connection = await database.connect()
        await connection.execute("VACUUM ANALYZE", timeout=600)
        await connection.close()


async def medians(looks: Mapping[str, Look], rounds: int) -> Medians:
    for look in looks.values():  # statements are prepared, pages are read
        await look()
    taken: dict[str, list[float]] = {name: [] for name in looks}
    gc.collect()
    for _ in range(rounds):
        for name, look in looks.items():
            taken[name] += await _timed(look)
    return {name: statistics.median(each) for name, each in taken.items()}


async def _timed(look: Look) -> list[float]:
    taken: list[float] = []
    until = time.perf_counter() + _LONG_SECONDS
    while len(taken) < LOOKS and (not taken or time.perf_counter() < until):
        began = time.perf_counter()
        await look()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def table(results: Mapping[str, Sequence[Grown]], sizes: Sequence[int], rounds: int, load: float) -> str:
    per_day = 24 * 3600 * 1000 // EVERY_MS
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d}, {rounds} rounds, medians: {machine()}. "
        f"{per_day:,} deliveries a day with everything that hangs on them, so that the last day is the same at every "
        f"size; the goal is {GOAL} × the time at {sizes[0]:,}, where a difference below {NOISE_MS} ms counts as none. "
        + _load_words(load),
        "",
        "| what | database | " + " | ".join(f"{size:,}, ms" for size in sizes) + " | × | |",
        "|---|---|" + "--:|" * len(sizes) + "--:|---|",
    ]
    names = [one.name for one in next(iter(results.values()))]
    for place, name in enumerate(names):
        lines += [_line(name, database, grown[place]) for database, grown in results.items()]
    return "\n".join([*lines, "", *verdicts(results)])


def _line(name: str, database: str, one: Grown) -> str:
    times = " | ".join(f"{value:.2f}" for value in one.milliseconds)
    return f"| {name} | {database} | {times} | {'; '.join(f'{each:.1f}' for each in one.ratios)} | {_word(one)} |"


def verdicts(results: Mapping[str, Sequence[Grown]]) -> list[str]:
    return [
        f"- {database}: {sum(one.is_met for one in grown)} of {len(grown)} met"
        + "".join(f"; **missed** {one.name} ({max(one.ratios):.1f} ×)" for one in grown if not one.is_met)
        + "."
        for database, grown in results.items()
    ]


def _word(one: Grown) -> str:
    return "met" if one.is_met else "**missed**"


def _load_words(load: float) -> str:
    """Of the minute before it began."""
    busy = load > 0.5 * (os.cpu_count() or 1)
    return f"Load at the beginning {load:.1f}: {'other work ran on the machine' if busy else 'nothing else ran'}."


def main() -> None:
    load = os.getloadavg()[0]
    results: dict[str, list[Grown]] = {}
    crowds: dict[str, Crowd] = {}
    with temporary_postgres() as (server, folder):
        for name, url in (("SQLite", f"sqlite:///{folder}/growth.db"), ("PostgreSQL", server.url("butlers"))):
            results[name] = uvloop.run(grow(url, SIZES))
        if "CROWD" not in os.environ or os.environ["CROWD"] != "0":
            crowds = crowd(folder, server)
    text = "\n".join([table(results, SIZES, ROUNDS, load), *(["", crowd_table(crowds)] if crowds else [])])
    print(text)
    if "DRY" not in os.environ:
        write_between(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    main()
