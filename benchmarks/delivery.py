"""Durable deliveries per second, latency, and CPU, against the raw driver writing the same rows."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import statistics
import time
from dataclasses import dataclass

import uvloop

from benchmarks.page import made, verdict, write_part
from benchmarks.plane import NoChannel, envelope, running
from benchmarks.raw import raw_per_second
from benchmarks.temporary_postgres import temporary_postgres
from postroom.delivery.notify import deliver_envelope
from postroom.kernel.values.ids import IdMint
from postroom.message.wire import parse_notify

SHARE_TARGET = 0.5
TIME_TARGETS = {"accept": {50: 2}, "accept→provider": {50: 3, 99: 5}}  # by percentile, in ms
WARM_UP = 100  # connections are opened and statements prepared once, not once a run

_numbers = itertools.count()


@dataclass(frozen=True)
class Throughput:
    per_second: float
    cpu_us: float


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def throughput(url: str, *, count: int, submitters: int) -> Throughput:
    """From the envelope to the committed outcome, many callers at once, each waiting for its own."""
    mint = IdMint()
    async with running(url, NoChannel()) as plane:
        left = itertools.count()

        async def one() -> None:
            request_id = mint.mint(time.time_ns() // 1000)
            answer = await deliver_envelope(plane, envelope(next(_numbers)), request_id=request_id, wait_seconds=60)
            assert answer["status"] == "ok", answer

        async def submit() -> None:
            while next(left) < count:
                await one()

        await asyncio.gather(*(one() for _ in range(WARM_UP)))
        began, cpu = time.perf_counter(), cpu_seconds()
        await asyncio.gather(*(submit() for _ in range(submitters)))
        took = time.perf_counter() - began
        return Throughput(count / took, (cpu_seconds() - cpu) / count * 1e6)


async def batched(url: str, *, count: int, at_once: int, batch: int) -> Throughput:
    """The same, each caller so many at once: it waits for the outcomes of all that it handed in."""
    mint = IdMint()

    def new_id() -> str:
        return mint.mint(time.time_ns() // 1000)

    async with running(url, NoChannel(), slots=at_once * batch) as plane:
        left = count // batch

        async def one() -> dict[str, object]:
            return await deliver_envelope(plane, envelope(next(_numbers)), request_id=new_id(), wait_seconds=60)

        async def submit() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                answers = await asyncio.gather(*(one() for _ in range(batch)))
                assert all(answer["status"] == "ok" for answer in answers), answers

        await asyncio.gather(*(one() for _ in range(WARM_UP)))
        began, cpu = time.perf_counter(), cpu_seconds()
        await asyncio.gather(*(submit() for _ in range(at_once)))
        took = time.perf_counter() - began
        return Throughput(count / took, (cpu_seconds() - cpu) / count * 1e6)


async def latency(url: str, *, per_second: int, seconds: int) -> dict[str, list[float]]:
    """Milliseconds from the call to the commit, and to the provider call, at a steady gentle rate."""
    mint, channel = IdMint(), NoChannel()
    accepted: list[float] = []
    called: list[float] = []
    async with running(url, channel) as plane:

        async def one(number: int) -> None:
            began = time.time_ns() // 1000
            notify = parse_notify(envelope(number), plane.known_channels)
            got = await plane.acceptance.accept(await plane.acceptance.draft(notify, mint.mint(began)))
            accepted.append((time.time_ns() // 1000 - began) / 1000)
            await plane.outcomes.wait(got.snapshot.id, 30)
            called.append((channel.called_at_us[notify.message] - began) / 1000)

        tasks = []
        start = time.perf_counter()
        for number in range(per_second * seconds):
            await asyncio.sleep(max(0.0, start + number / per_second - time.perf_counter()))
            tasks.append(asyncio.create_task(one(next(_numbers))))
        await asyncio.gather(*tasks)
    return {"accept": accepted, "accept→provider": called}


@dataclass(frozen=True)
class Plane:
    """Of one database: what was measured in turn with the bare driver, and at a gentle rate."""

    ours: list[Throughput]
    raws: list[float]
    times: dict[str, list[float]]


async def measure(url: str, *, rounds: int, count: int) -> Plane:
    ours, raws = [], []
    for _ in range(rounds):
        raws.append(await raw_per_second(url, count=count))
        ours.append(await throughput(url, count=count, submitters=200))
    return Plane(ours, raws, await latency(url, per_second=50, seconds=6))


async def _both(sqlite_url: str, postgres_url: str, rounds: int, count: int) -> dict[str, Plane]:
    return {
        "PostgreSQL": await measure(postgres_url, rounds=rounds, count=count),
        "SQLite": await measure(sqlite_url, rounds=rounds, count=count),
    }


def table(planes: dict[str, Plane]) -> list[str]:
    lines = [
        "| database | deliveries/s | bare driver | ours against it | CPU of our process |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, one in planes.items():
        rate, raw = statistics.median(done.per_second for done in one.ours), statistics.median(one.raws)
        cpu = statistics.median(done.cpu_us for done in one.ours)
        word = verdict(rate / raw >= SHARE_TARGET)
        lines.append(f"| {name} | {rate:,.0f} | {raw:,.0f} | {rate / raw:.2f}, {word}: {SHARE_TARGET} | {cpu:.0f} µs |")
    lines += ["", "| database | at 50 a second | p50, ms | p99, ms | target |", "|---|---|--:|--:|--:|"]
    for name, one in planes.items():
        for what, values in one.times.items():
            cuts, targets = statistics.quantiles(values, n=100), TIME_TARGETS[what]
            word = verdict(all(cuts[percent - 1] <= most for percent, most in targets.items()))
            said = ", ".join(f"p{percent} {most} ms" for percent, most in targets.items())
            lines.append(f"| {name} | {what} | {cuts[49]:.2f} | {cuts[98]:.2f} | {said}, {word} |")
    return lines


def main() -> None:
    rounds, count = int(os.environ.get("ROUNDS", "3")), int(os.environ.get("COUNT", "5000"))
    with temporary_postgres() as (server, folder):
        urls = f"sqlite:///{folder}/bench.db", server.url("butlers")
        planes = uvloop.run(_both(*urls, rounds, count))
    how = f"{rounds} interleaved rounds of {count:,} deliveries by 200 callers, medians"
    write_part("delivery", [made(how), "", *table(planes)])
