"""Durable deliveries per second, latency, and CPU, against the raw driver writing the same rows."""

from __future__ import annotations

import asyncio
import itertools
import resource
import statistics
import time
from dataclasses import dataclass

from benchmarks.plane import NoChannel, envelope, running
from benchmarks.raw import raw_per_second
from postroom.domain.ids import IdMint
from postroom.domain.notify import parse_notify
from postroom.doors.messenger.deliver_envelope import deliver_envelope
from postroom.work.delivery.together import together

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
    """The same, so many in each call: a call waits for the outcomes of all that it handed in."""
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
                answers = await together([one] * batch, new_id)
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
            got = await plane.acceptance.accept(notify, request_id=mint.mint(began))
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


def percentiles(values: list[float]) -> str:
    ordered = statistics.quantiles(values, n=100)
    return f"p50 {ordered[49]:6.2f}   p95 {ordered[94]:6.2f}   p99 {ordered[98]:6.2f} ms"


async def measure(name: str, url: str, *, rounds: int, count: int) -> None:
    ours, raws = [], []
    for _ in range(rounds):
        raws.append(await raw_per_second(url, count=count))
        ours.append(await throughput(url, count=count, submitters=200))
    rate = statistics.median(one.per_second for one in ours)
    raw = statistics.median(raws)
    cpu = statistics.median(one.cpu_us for one in ours)
    print(
        f"{name:<10} deliveries/s {rate:8.0f}   raw driver {raw:8.0f}   ours/raw {rate / raw:5.2f}   CPU {cpu:6.0f} µs"
    )
    for what, values in (await latency(url, per_second=50, seconds=6)).items():
        print(f"{name:<10} {what:<16} {percentiles(values)}")
