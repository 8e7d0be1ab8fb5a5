"""How long everything takes that a household asks of its database while its past grows from ten thousand deliveries."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import uvloop
from chaos.described import machine
from tests.services import databases
from tests.services.postgres import PostgresServer

from benchmarks import growth_crowd, growth_week
from benchmarks.growth_fill import filled
from benchmarks.growth_looks import FULL_AT, Asked, Look
from benchmarks.growth_page import load_words, written
from benchmarks.growth_rows import EVERY_MS
from benchmarks.plane import opened
from benchmarks.temporary_postgres import temporary_postgres

SIZES: Final = tuple(int(one) for one in os.environ.get("ROWS", "10000,1000000,5000000").split(","))
ROUNDS: Final = int(os.environ.get("ROUNDS", "3"))
LOOKS: Final = 15  # in a round; fewer of what takes long
GOAL: Final = 1.5
NOISE_MS: Final = 0.3  # a difference below this is not seen by anybody, and not measured reliably
_LONG_SECONDS: Final = 1.0  # in a round, for one kind of look
MARK: Final = "growth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """One line of the table."""

    name: str
    milliseconds: Sequence[float]  # at each size, the median
    fastest: Sequence[float]  # the same; what else the machine does only ever adds to it, so these are compared
    full: int = 0  # the place of the first size at which there is as much to count as is ever counted

    @property
    def ratio(self) -> float | None:
        """The worst; None where no two sizes can be compared."""
        return max((one / self.fastest[self.full] for one in self.fastest[self.full + 1 :]), default=None)

    @property
    def is_met(self) -> bool:
        first, *later = self.fastest[self.full :] or [0.0]
        return all(one <= GOAL * first or one - first <= NOISE_MS for one in later)


def grown(name: str, times: Sequence[Sequence[float]], sizes: Sequence[int]) -> Grown:
    medians, fastest = [statistics.median(each) for each in times], [min(each) for each in times]
    full = next((place for place, size in enumerate(sizes) if size >= FULL_AT.get(name, 0)), len(sizes))
    return Grown(name=name, milliseconds=medians, fastest=fastest, full=full)


async def grow(urls: Mapping[str, Mapping[int, str]], rounds: int = ROUNDS) -> dict[str, list[Grown]]:
    """By the name of each database, of which there is one of each size."""
    found: dict[str, list[Grown]] = {}
    async with AsyncExitStack() as houses:
        ready = {name: await _opened(houses, each) for name, each in urls.items()}
        await asyncio.gather(*(_filled(some) for some in ready.values()))  # SQLite here, PostgreSQL in its own process
        for name, some in ready.items():
            taken = await asked_in_turn([one.looks() for one in some], rounds)
            found[name] = [grown(look, times, sorted(urls[name])) for look, times in taken.items()]
    return found


async def _opened(houses: AsyncExitStack, urls: Mapping[int, str]) -> list[Asked]:
    asked = []
    for size, url in sorted(urls.items()):
        database, ledger = await houses.enter_async_context(opened(url))
        now_us = time.time_ns() // 1_000_000 * 1000
        asked.append(Asked(database=database, ledger=ledger, now_us=now_us, size=size))
    return asked


async def _filled(some: Sequence[Asked]) -> None:
    for one in some:
        await filled(one.database, one.size, one.now_us // 1000)


async def asked_in_turn(looks: Sequence[Mapping[str, Look]], rounds: int) -> dict[str, list[list[float]]]:
    """
    Milliseconds of every single look, by its name and the place of its size.

    One size after the other for each look: what else the machine does meanwhile slows all of them alike.
    """
    taken: dict[str, list[list[float]]] = {name: [[] for _ in looks] for name in looks[0]}
    for number in range(rounds + 1):
        for name, times in taken.items():
            found = await _in_turn([one[name] for one in looks])
            for place, each in enumerate(found):
                times[place] += each if number else []  # in the first, statements are prepared and pages are read
    return taken


async def _in_turn(looks: Sequence[Look]) -> list[list[float]]:
    taken: list[list[float]] = [[] for _ in looks]
    until = time.perf_counter() + _LONG_SECONDS
    while len(taken[-1]) < LOOKS and (not taken[-1] or time.perf_counter() < until):
        for look, times in zip(looks, taken, strict=True):
            began = time.perf_counter()
            await look()
            times.append((time.perf_counter() - began) * 1000)
    return taken


def table(results: Mapping[str, Sequence[Grown]], sizes: Sequence[int], rounds: int, load: float) -> str:
    """A line for each question, the databases beside each other."""
    columns = [f"{database} {_short(size)}" for database in results for size in [*sizes, 0]]
    lines = [_head(sizes, rounds, load), "", "| milliseconds | " + " | ".join(columns) + " |"]
    lines.append("|---|" + "--:|" * len(columns))
    lines += [_line(both) for both in zip(*results.values(), strict=True)]
    return "\n".join([*lines, "", *verdicts(results), *_spans(results)])


def _head(sizes: Sequence[int], rounds: int, load: float) -> str:
    per_day = 24 * 3600 * 1000 // EVERY_MS
    return (
        f"Made on {datetime.now(UTC):%Y-%m-%d}, {rounds} rounds: {machine()}. Times are medians; the ratio × is "
        "that of the fastest, because what else the machine does only ever adds to a time. "
        f"{per_day:,} deliveries a day with everything that hangs on them, so that the last day is the same at every "
        f"size; the goal is {GOAL} × the time at {sizes[0]:,}, where a difference below {NOISE_MS} ms counts as none. "
        + load_words(load)
    )


def _short(size: int) -> str:
    """As in 10k and 5M; nothing for the column of the ratio."""
    if size == 0:
        return "×"
    return f"{size // 1_000_000}M" if size % 1_000_000 == 0 else f"{size / 1000:g}k"


def _line(both: Sequence[Grown]) -> str:
    cells = [cell for one in both for cell in (*(f"{value:.2f}" for value in one.milliseconds), _ratio(one))]
    name = both[0].name if all(one.is_met for one in both) else f"**{both[0].name}**"
    return f"| {name} | {' | '.join(cells)} |"


def _ratio(one: Grown) -> str:
    if one.ratio is None:
        return "–"
    return f"{one.ratio:.1f}" if one.is_met else f"**{one.ratio:.1f}**"


def verdicts(results: Mapping[str, Sequence[Grown]]) -> list[str]:
    return [
        f"- {database}: {sum(one.is_met for one in found)} of {len(found)} met"
        + "".join(f"; **missed** {one.name} ({one.ratio:.1f} ×)" for one in found if not one.is_met)
        + "."
        for database, found in results.items()
    ]


def _spans(results: Mapping[str, Sequence[Grown]]) -> list[str]:
    names = [one.name for one in next(iter(results.values())) if one.name in FULL_AT]
    compared = "; ".join(f"{name} from {FULL_AT[name]:,}" for name in names)
    return [
        f"- What is counted only up to a bound is compared from the size on that reaches it, and grows until then: "
        f"{compared}. With one such size there is nothing to compare (–)."
    ]


@contextmanager
def postgres_urls(server: PostgresServer, sizes: Sequence[int]) -> Iterator[dict[int, str]]:
    with ExitStack() as made:
        yield {size: made.enter_context(databases.temporary(server.url("postgres"))) for size in sizes}


def main() -> None:
    """The looks, then who waits, then a week; each of the latter two is a part of its own as well."""
    began, load = time.perf_counter(), os.getloadavg()[0]
    with temporary_postgres() as (server, folder), postgres_urls(server, SIZES) as on_postgres:
        on_sqlite = {size: f"sqlite:///{folder}/{size}.db" for size in SIZES}
        results = uvloop.run(grow({"SQLite": on_sqlite, "PostgreSQL": on_postgres}))
    written(MARK, table(results, SIZES, ROUNDS, load), began)
    growth_crowd.main()
    growth_week.main()


if __name__ == "__main__":
    main()
