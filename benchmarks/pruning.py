"""What callers notice of `postroom prune`: latency at a gentle rate, alone and beside it, in turn."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import uvloop
from sqlalchemy import Connection

from benchmarks import delivery
from benchmarks.growth_fill import fill
from benchmarks.growth_rows import FILLINGS
from benchmarks.page import made, write_part
from benchmarks.plane import opened
from benchmarks.temporary_postgres import temporary_postgres

ROUNDS = int(os.environ.get("ROUNDS", "3"))
OLD = 5_000
LONG_AGO_MS = 1_000_000_000_000
SECONDS = 5
ROOT = Path(__file__).parents[1]


def fill_old(connection: Connection, first: int) -> None:
    """With attempts and receipts, so that a move moves what it would in earnest."""
    for one in FILLINGS:
        if one.table in ("delivery_requests", "delivery_attempts", "delivery_receipts"):
            fill(connection, one, first, first + OLD - 1, LONG_AGO_MS)


async def measure(name: str, url: str, home: str) -> list[str]:
    alone: list[float] = []
    beside: list[float] = []
    rates: list[float] = []
    for number in range(ROUNDS):
        async with opened(url) as (database, _):
            await database.write(partial(fill_old, first=(number + 1) * OLD))
        alone += await latencies(url)
        pruning = asyncio.create_task(prune(url, home))
        beside += await latencies(url)
        rates.append(await pruning)
    moved = f"{statistics.median(rates):,.0f}"
    return [_line(name, "alone", alone, ""), _line(name, "beside `postroom prune`", beside, moved)]


def _line(name: str, when: str, times: list[float], moved: str) -> str:
    cuts = statistics.quantiles(times, n=100)
    return f"| {name} | {when} | {cuts[49]:.2f} | {cuts[98]:.2f} | {moved} |"


async def latencies(url: str) -> list[float]:
    """The first second is for warming up."""
    found = await delivery.latency(url, per_second=50, seconds=SECONDS)
    return found["accept"][50:]


async def prune(url: str, home: str) -> float:
    words = ["prune", "--database", url, "--home", home, "--older-than", "1h", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "postroom", *words), stdout=subprocess.PIPE, env=environment
    )
    out, _ = await process.communicate()
    moved: int = json.loads(out)["pruned"]["deliveries"]
    return moved / (time.perf_counter() - began)


async def both(folder: str, postgres_url: str) -> list[str]:
    lines = await measure("SQLite", f"sqlite:///{folder}/pruned.db", f"{folder}/home")
    return lines + await measure("PostgreSQL", postgres_url, f"{folder}/home")


def main() -> None:
    with temporary_postgres() as (server, folder):
        lines = uvloop.run(both(str(folder), server.url("butlers")))
    head = ["| database | a message is accepted | p50, ms | p99, ms | deliveries moved/s |", "|---|---|--:|--:|--:|"]
    write_part("pruning", [made(f"{ROUNDS} rounds of {OLD:,} old deliveries, 50 messages a second"), "", *head, *lines])
