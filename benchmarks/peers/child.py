"""One contender in a process of its own: so many jobs as fast as it can, then a gentle stream for the latency."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

PAYLOAD = "x" * 450  # with its number about as long as a notify envelope
CALLERS = (200, 1)  # so many at once, and so many jobs in each call
BATCHES = (4, 100)
WARM_UP = 100
PER_SECOND = 50
_GLANCE_SECONDS = 0.01
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Queue:
    """`submit` returns when the jobs are durable; `left` says how many have no durable outcome yet."""

    submit: Callable[[Sequence[int]], Awaitable[None]]
    left: Callable[[], Awaitable[int]]


Open = Callable[[str, Callable[[int], None]], AbstractAsyncContextManager[Queue]]


class Sent:
    """The no-op channel: notes when it was called, and does nothing."""

    def __init__(self) -> None:
        self.at: dict[int, float] = {}

    def __call__(self, number: int) -> None:
        self.at[number] = time.perf_counter()

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while len(self.at) < count:
                await asyncio.sleep(_GLANCE_SECONDS)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def throughput(opened: Open, url: str, count: int, load: tuple[int, int]) -> dict[str, float]:
    """From the first job handed in to the last outcome on disk; producers and worker side by side."""
    sent = Sent()
    async with opened(url, sent) as queue:
        await queue.submit(range(count, count + WARM_UP))
        await sent.reach(WARM_UP)
        at_once, batch = load
        waiting = [range(start, min(start + batch, count)) for start in range(0, count, batch)]

        async def submit() -> None:
            while waiting:
                await queue.submit(waiting.pop())

        began, cpu = time.perf_counter(), cpu_seconds()
        await asyncio.gather(*(submit() for _ in range(at_once)))
        await sent.reach(count + WARM_UP)
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while await queue.left():
                await asyncio.sleep(_GLANCE_SECONDS)
        took = time.perf_counter() - began
        return {"per_second": count / took, "cpu_us": (cpu_seconds() - cpu) / count * 1e6}


async def latency(opened: Open, url: str, seconds: int) -> dict[str, list[float]]:
    """Milliseconds from handing a job in to the channel being called, one job at a time, 50 a second."""
    sent, begun = Sent(), dict[int, float]()
    async with opened(url, sent) as queue:

        async def one(number: int) -> None:
            begun[number] = time.perf_counter()
            await queue.submit([number])

        tasks = []
        async for number in paced(PER_SECOND * seconds):
            tasks.append(asyncio.create_task(one(number)))
        await asyncio.gather(*tasks)
        await sent.reach(len(tasks))
    return {"milliseconds": [(sent.at[number] - begun[number]) * 1000 for number in sorted(begun)]}


async def paced(count: int) -> AsyncIterator[int]:
    start = time.perf_counter()
    for number in range(count):
        await asyncio.sleep(max(0.0, start + number / PER_SECOND - time.perf_counter()))
        yield number


def run(opened: Open) -> None:
    """What this process prints is one line of JSON."""
    import uvloop

    asked = asked_for()
    if asked.what == "latency":
        print(json.dumps(uvloop.run(latency(opened, asked.url, asked.seconds))))
    else:
        load = CALLERS if asked.what == "callers" else BATCHES
        print(json.dumps(uvloop.run(throughput(opened, asked.url, asked.count, load))))


def asked_for() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["callers", "batches", "latency"])
    parser.add_argument("url")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=5)
    return parser.parse_args()
