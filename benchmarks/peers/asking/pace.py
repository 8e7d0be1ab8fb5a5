"""How long a question takes: a gentle stream of them, then as many as twenty callers can get answered."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.peers.asking.house import House

PER_SECOND = 10
CALLERS = 20
WARM_UP = 5
_THINKING_SECONDS = 1.0


@dataclass(slots=True)
class Pace:
    """Milliseconds of every question of the stream; questions per second of each round."""

    accepted: list[float] = field(default_factory=list)
    returned: list[float] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)


async def one_round(house: House, keys: Iterator[str], into: Pace, *, questions: int, burst: int) -> None:
    for _ in range(WARM_UP):
        await answered_at_once(house, next(keys))
    started = time.perf_counter()
    stream = list[asyncio.Task[None]]()
    for number in range(questions):
        await asyncio.sleep(max(0.0, started + number / PER_SECOND - time.perf_counter()))
        stream.append(asyncio.create_task(_thought_about(house, next(keys), into)))
    await asyncio.gather(*stream)
    into.rates.append(await rate(house, keys, burst))


async def _thought_about(house: House, key: str, into: Pace) -> None:
    """The person takes up to a second, so that a server that looks at intervals is met at all points of them."""
    began = time.perf_counter()
    ask_id = await house.ask(key)
    into.accepted.append((time.perf_counter() - began) * 1000)
    waiting = asyncio.create_task(_returned(house, ask_id))
    await asyncio.sleep(random.uniform(0.05, 0.05 + _THINKING_SECONDS))
    given = time.perf_counter()
    await house.answer(ask_id, "yes")
    into.returned.append((await waiting - given) * 1000)


async def _returned(house: House, ask_id: str) -> float:
    await house.waited(ask_id)
    return time.perf_counter()


async def rate(house: House, keys: Iterator[str], burst: int) -> float:
    left = iter(range(burst))

    async def caller() -> None:
        for _ in left:
            await answered_at_once(house, next(keys))

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return burst / (time.perf_counter() - began)


async def answered_at_once(house: House, key: str) -> None:
    ask_id = await house.ask(key)
    await asyncio.gather(house.waited(ask_id), house.answer(ask_id, "yes"))
