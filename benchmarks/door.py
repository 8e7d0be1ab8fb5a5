"""`notify` over MCP streamable HTTP, against a tool that does nothing on the same server in the same rounds."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from chaos.described import machine

from benchmarks.peers.figures import percentile
from benchmarks.peers.table import write_between
from benchmarks.temporary_postgres import temporary_postgres

ROUNDS = int(os.environ.get("ROUNDS", "5"))
CALLS = int(os.environ.get("CALLS", "600"))
TARGETS = {1: 2.0, 20: 2.5}  # by how many at once: a caller alone, and a crowd
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "performance.md"
BEGIN = "<!-- written by `make bench ARGS=door`: begin -->"
END = "<!-- written by `make bench ARGS=door`: end -->"
TRIVIAL, STORED, DELIVERED = "a call without work", "`notify`, until stored", "`notify`, until delivered"

_meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_numbers = itertools.count(1)


@dataclass(slots=True)
class Timings:
    """Of one tool at one concurrency: rate and processor time of the household in each round, and every single call."""

    rates: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return percentile(self.milliseconds, 50)


Results = dict[tuple[str, str, int], Timings]  # database, tool, how many at once


def request(what: str) -> tuple[str, dict[str, Any]]:
    if what == TRIVIAL:
        return "notify_status", {"delivery_id": "none of ours"}  # read, refused and answered, and nothing looked up
    number = next(_numbers)
    arguments = {"channel": "telegram", "message": f"message {number} " + "x" * 120, "recipient": str(100_000 + number)}
    return "notify", {**arguments, **({"wait_seconds": 0} if what == STORED else {})}


async def call(http: aiohttp.ClientSession, url: str, what: str) -> float:
    tool, arguments = request(what)
    body = {
        "jsonrpc": "2.0",
        "id": next(_numbers),
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": _meta},
    }
    began = time.perf_counter()
    async with http.post(url, json=body, headers={"Mcp-Name": tool}) as response:
        answer = await response.json()
    took = (time.perf_counter() - began) * 1000
    result = answer["result"]["structuredContent"]
    if tool == "notify":
        assert result["status"] == ("ok" if what == DELIVERED else result["status"]), result
        assert result["status"] in ("ok", "accepted"), result
    return took


async def burst(http: aiohttp.ClientSession, url: str, what: str, at_once: int, count: int, into: Timings) -> None:
    left = iter(range(count))

    async def caller() -> None:
        for _ in left:
            into.milliseconds.append(await call(http, url, what))

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    into.rates.append(count / (time.perf_counter() - began))


def processor_us(process: int) -> float:
    """What all threads of a process have used."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1000


async def measure(name: str, living: dict[str, Any], results: Results) -> None:
    url, process = living["url"], living["process"]
    headers = {
        "Authorization": f"Bearer {living['token']}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
    }
    async with aiohttp.ClientSession(headers=headers) as http:
        for what in (TRIVIAL, STORED, DELIVERED):  # the first calls of a process pay for its caches
            await burst(http, url, what, 4, 40, Timings())
        for number in range(ROUNDS):
            for at_once in TARGETS:
                tools = (TRIVIAL, STORED, DELIVERED)
                for what in tools[number % 3 :] + tools[: number % 3]:
                    into = results.setdefault((name, what, at_once), Timings())
                    count, before = CALLS if at_once > 1 else CALLS // 3, processor_us(process)
                    await burst(http, url, what, at_once, count, into)
                    into.processor_us.append((processor_us(process) - before) / count)


@contextmanager
def household(home: Path, database: str) -> Iterator[dict[str, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.door_household", str(home), database],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield {**json.loads(process.stdout.readline()), "process": process.pid}
    finally:
        process.stdin.close()
        process.wait(30)


def table(results: Results) -> str:
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d}, {ROUNDS} interleaved rounds; rates are medians (lowest–highest), "
        f"times are of every call: {machine()}. CPU is the household's. The caller is "
        "another process on the same cores.",
        "",
        "| database | tool | at once | calls/s | p50 / p95 ms | p50 against no work | CPU, µs/call |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for (name, what, at_once), made in sorted(results.items(), key=lambda one: (one[0][0], one[0][2], one[1].p50)):
        ratio = made.p50 / results[name, TRIVIAL, at_once].p50
        lines.append(
            f"| {name} | {what} | {at_once} | {statistics.median(made.rates):,.0f} ({min(made.rates):,.0f}–"
            f"{max(made.rates):,.0f}) | {made.p50:.2f} / {percentile(made.milliseconds, 95):.2f} | {ratio:.2f}× | "
            f"{statistics.median(made.processor_us):,.0f} |"
        )
    return "\n".join([*lines, "", *(f"- {one}." for one in verdicts(results))])


def verdicts(results: Results) -> list[str]:
    found = []
    for (name, what, at_once), made in sorted(results.items()):
        if what != TRIVIAL:
            ratio, target = made.p50 / results[name, TRIVIAL, at_once].p50, TARGETS[at_once]
            verdict = "**Met**" if ratio <= target else "**Missed**"
            found.append(f"{verdict}: {name}, {what}, {at_once} at once: {ratio:.2f}×, the target is at most {target}×")
    return found


def main() -> None:
    results: Results = {}
    with temporary_postgres() as (server, folder):
        for name, database in (("SQLite", ""), ("PostgreSQL", server.url())):
            with household(folder / name, database) as living:
                uvloop.run(measure(name, living, results))
    text = table(results)
    print(text)
    if "DRY" not in os.environ:
        write_between(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    main()
