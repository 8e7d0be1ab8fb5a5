"""What one delivery costs in cores, log and disk, and what a hundred thousand a second would therefore take."""

from __future__ import annotations

import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
from chaos.described import machine
from tests.services import databases
from tests.services.postgres import PostgresServer

from benchmarks.peers.table import write_between
from benchmarks.temporary_postgres import temporary_postgres

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "scaling.md"
BEGIN = "<!-- written by `make bench ARGS=scaling`: begin -->"
END = "<!-- written by `make bench ARGS=scaling`: end -->"
ROUNDS = int(os.environ.get("ROUNDS", "3"))
COUNT = int(os.environ.get("COUNT", "5000"))
WANTED = 100_000

# Assumptions of the computation, named so that a reader can put in others.
NODE_CORES = 16
BUSY = 0.6  # how much of a core is planned for; the rest is for checkpoints, vacuum and bad moments
NODE_LOG_MB = 200.0  # of write-ahead log per second that one node's disk and its replica carry all day
RETENTION_DAYS = 1

_COUNTERS = """
    SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8,
        (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8,
        (SELECT wal_sync FROM pg_stat_wal)::float8,
        (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'messenger' AND c.relkind = 'r' AND c.relname LIKE 'delivery%')::float8
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one delivery, in one round."""

    processes: int
    per_second: float
    client_us: float
    server_us: float
    log_bytes: float
    commits: float
    syncs: float
    disk_bytes: float


def server_cpu_seconds(postmaster: int) -> float:
    """Of the server and everything it has started, also what has ended since."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parent.name) == postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


async def counters(url: str) -> list[float]:
    connection = await asyncpg.connect(url)
    try:
        return [float(value) for value in (await connection.fetch(_COUNTERS))[0]]
    finally:
        await connection.close()


def one_round(server: PostgresServer, processes: int) -> Cost:
    """So many households' planes at once on one new database; each has 200 callers."""
    with databases.temporary(server.url("postgres")) as url:
        _run(url, 1, 200)  # migrates, and fills the caches
        before, cpu = asyncio.run(counters(url)), server_cpu_seconds(server.pid)
        made = _run(url, processes, COUNT)
        number = processes * COUNT
        spent = server_cpu_seconds(server.pid) - cpu
        log, commits, syncs, disk = (
            (now - then) / number for now, then in zip(asyncio.run(counters(url)), before, strict=True)
        )
    return Cost(
        processes=processes,
        per_second=sum(one["per_second"] for one in made),
        client_us=statistics.mean(one["cpu_us"] for one in made),
        server_us=spent / number * 1e6,
        log_bytes=log,
        commits=commits,
        syncs=syncs,
        disk_bytes=disk,
    )


def _run(url: str, processes: int, count: int) -> list[dict[str, float]]:
    command = [sys.executable, "-m", "benchmarks.peers.run_postroom", "callers", url, f"--count={count}"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
        for _ in range(processes)
    ]
    return [json.loads(one.communicate(timeout=300)[0].splitlines()[-1]) for one in running]


def middle(costs: Sequence[Cost], processes: int, what: str) -> float:
    return float(statistics.median(getattr(one, what) for one in costs if one.processes == processes))


def table(costs: Sequence[Cost]) -> str:
    kinds = sorted({one.processes for one in costs})
    head = [
        f"Made on {datetime.now(UTC):%Y-%m-%d}, {ROUNDS} interleaved rounds of {COUNT:,} deliveries per process, "
        f"medians: {machine()}. PostgreSQL and its clients share the cores.",
        "",
        "| processes | deliveries/s | CPU of a client, µs | CPU of PostgreSQL, µs | commits | syncs of the log "
        "| log, bytes | disk with indexes, bytes |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    rows = [
        f"| {kind} | {middle(costs, kind, 'per_second'):,.0f} | {middle(costs, kind, 'client_us'):,.0f} "
        f"| {middle(costs, kind, 'server_us'):,.0f} | {middle(costs, kind, 'commits'):.3f} "
        f"| {middle(costs, kind, 'syncs'):.3f} | {middle(costs, kind, 'log_bytes'):,.0f} "
        f"| {middle(costs, kind, 'disk_bytes'):,.0f} |"
        for kind in kinds
    ]
    return "\n".join([*head, *rows, "", *arithmetic(costs)])


def arithmetic(costs: Sequence[Cost]) -> list[str]:
    """From one process, whose figures are the least disturbed."""
    client, server = middle(costs, 1, "client_us"), middle(costs, 1, "server_us")
    log, disk = middle(costs, 1, "log_bytes"), middle(costs, 1, "disk_bytes")
    client_cores, server_cores = client * WANTED / 1e6, server * WANTED / 1e6
    log_mb = log * WANTED / 1e6
    day_gb = disk * WANTED * 86_400 / 1e9
    by_cpu, by_log = server_cores / BUSY / NODE_CORES, log_mb / NODE_LOG_MB
    nodes = math.ceil(max(by_cpu, by_log))
    return [
        f"Computed to {WANTED:,} deliveries per second, from the line with one process:",
        "",
        f"- workers: {WANTED:,} × {client:,.0f} µs = {client_cores:,.0f} busy cores; planned at {BUSY:.0%} of a core, "
        f"{math.ceil(client_cores / BUSY):,} cores, one process each;",
        f"- PostgreSQL: {WANTED:,} × {server:,.0f} µs = {server_cores:,.0f} busy cores; {NODE_CORES} cores per node at "
        f"{BUSY:.0%}: {by_cpu:.1f} nodes;",
        f"- write-ahead log: {WANTED:,} × {log:,.0f} B = {log_mb:,.0f} MB/s; at {NODE_LOG_MB:.0f} MB/s per node: "
        f"{by_log:.1f} nodes;",
        f"- so {nodes} shards, each with {WANTED / nodes:,.0f} deliveries/s, and as many replicas;",
        f"- disk: {WANTED:,} × {disk:,.0f} B × 86,400 s = {day_gb:,.0f} GB a day in the ledger, "
        f"{day_gb * RETENTION_DAYS / nodes:,.0f} GB per shard when `postroom prune` keeps {RETENTION_DAYS} day.",
    ]


def main() -> None:
    costs: list[Cost] = []
    with temporary_postgres() as (server, _):
        for _ in range(ROUNDS):
            costs += [one_round(server, processes) for processes in (1, 2)]
    text = table(costs)
    print(text)
    if "DRY" not in os.environ:
        write_between(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    main()
