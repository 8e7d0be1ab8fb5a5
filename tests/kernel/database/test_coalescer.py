"""Group commit: who waits together is written together, and nobody pays for another's mistake."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from postroom.kernel.database.coalescer import Coalescer
from postroom.kernel.values.errors import StoreUnavailable


class Tens:
    """Answers each number with ten times as much; a negative one fails whoever is flushed with it."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.away = False

    async def flush(self, numbers: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(numbers))
        await self.open.wait()
        if self.away:
            raise StoreUnavailable("away")
        if min(numbers) < 0:
            raise ValueError("negative")
        return [10 * number for number in numbers]


async def test_a_lone_caller_waits_for_nobody() -> None:
    tens = Tens()

    assert await Coalescer(tens.flush).submit(4) == 40
    assert tens.batches == [[4]]


async def test_a_crowd_shares_round_trips_in_the_order_it_came() -> None:
    tens = Tens()
    coalescer = Coalescer(tens.flush, most=3)
    tens.open.clear()
    waiting = [asyncio.create_task(coalescer.submit(number)) for number in range(8)]
    await asyncio.sleep(0)

    tens.open.set()

    assert await asyncio.gather(*waiting) == [10 * number for number in range(8)]
    assert [number for batch in tens.batches for number in batch] == list(range(8))
    assert max(map(len, tens.batches)) == 3
    assert len(tens.batches) <= 4


async def test_one_bad_item_fails_alone() -> None:
    tens = Tens()
    coalescer = Coalescer(tens.flush)

    results = await asyncio.gather(*(coalescer.submit(number) for number in (1, -1, 2)), return_exceptions=True)

    assert [results[0], results[2]] == [10, 20]
    assert isinstance(results[1], ValueError)


async def test_when_the_store_is_away_everyone_learns_it_at_once() -> None:
    tens = Tens()
    tens.away = True
    coalescer = Coalescer(tens.flush)

    results = await asyncio.gather(*(coalescer.submit(number) for number in range(5)), return_exceptions=True)

    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert len(tens.batches) == 1


async def test_a_caller_who_leaves_takes_nobody_along() -> None:
    tens = Tens()
    coalescer = Coalescer(tens.flush)
    tens.open.clear()
    leaving, staying = (asyncio.create_task(coalescer.submit(number)) for number in (1, 2))
    await asyncio.sleep(0)
    leaving.cancel()
    tens.open.set()

    assert await staying == 20
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert await coalescer.submit(3) == 30


async def test_by_halves_some_go_on_while_the_others_are_written() -> None:
    tens = Tens()
    coalescer = Coalescer(tens.flush, by_halves=True)

    results = await asyncio.gather(*(coalescer.submit(number) for number in range(200)))

    assert results == [10 * number for number in range(200)]
    assert [number for batch in tens.batches for number in batch] == list(range(200))
    assert [len(batch) for batch in tens.batches] == [100, 64, 36]
