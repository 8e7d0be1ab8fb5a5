"""What callers notice of `postroom prune`: latency at a gentle rate, alone and beside it, in turn."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import uvloop
from sqlalchemy import Connection

from benchmarks import delivery
from benchmarks.history import fill
from benchmarks.plane import opened
from benchmarks.temporary_postgres import temporary_postgres

ROUNDS = int(os.environ.get("ROUNDS", "3"))
OLD = 5_000
SECONDS = 5
ROOT = Path(__file__).parents[1]


def settle(connection: Connection) -> None:
    """An attempt and a receipt for every delivery that has none, so that a move moves what it would in earnest."""
    schema = "messenger." if connection.dialect.name == "postgresql" else ""
    for table, values in (
        ("delivery_attempts", "id, 1, 1, 1, 1.0, 'success', NULL, NULL, NULL, NULL"),
        ("delivery_receipts", "id, 1, id, 'sent', 1, NULL"),
    ):
        connection.exec_driver_sql(
            f"INSERT INTO {schema}{table} SELECT {values} FROM {schema}delivery_requests AS one "
            f"WHERE NOT EXISTS (SELECT 1 FROM {schema}{table} WHERE delivery_request_id = one.id)"
        )


async def measure(name: str, url: str, home: str) -> None:
    alone: list[float] = []
    beside: list[float] = []
    rates: list[float] = []
    for number in range(ROUNDS):
        async with opened(url) as (database, _):
            await database.write(lambda connection, first=number * OLD: fill(connection, first + 1, first + OLD))
            await database.write(settle)
        alone += await latencies(url)
        pruning = asyncio.create_task(prune(url, home))
        beside += await latencies(url)
        rates.append(await pruning)
    print(f"{name:<10} alone         {delivery.percentiles(alone)}")
    print(f"{name:<10} beside prune  {delivery.percentiles(beside)}   ({min(rates):,.0f}–{max(rates):,.0f} moved/s)")


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


async def both(folder: str, postgres_url: str) -> None:
    await measure("sqlite", f"sqlite:///{folder}/pruned.db", f"{folder}/home")
    await measure("postgres", postgres_url, f"{folder}/home")


def main() -> None:
    with temporary_postgres() as (server, folder):
        uvloop.run(both(str(folder), server.url("butlers")))
