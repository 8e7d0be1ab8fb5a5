"""One request, many who ask for it: each is answered, and nobody who leaves takes anything along."""

from __future__ import annotations

import asyncio

import pytest

from postroom.domain.errors import TargetUnavailable
from postroom.work.delivery.arrival import Arrival


def callers(arrival: Arrival[str], count: int) -> list[asyncio.Future[str]]:
    return [arrival.heard() for _ in range(count)]


async def test_everyone_hears_the_same() -> None:
    arrival = Arrival[str]()
    waiting = callers(arrival, 3)

    arrival.tell("stored")

    assert await asyncio.gather(*waiting) == ["stored"] * 3


async def test_everyone_learns_why_it_failed() -> None:
    arrival = Arrival[str]()
    waiting = callers(arrival, 3)

    arrival.fail(TargetUnavailable("away"))

    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(answer) for answer in answers] == [TargetUnavailable] * 3


@pytest.mark.parametrize("failed", [False, True])
async def test_one_who_hung_up_changes_nothing_for_the_others(failed: bool) -> None:
    arrival = Arrival[str]()
    leaving, staying = callers(arrival, 2)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)

    if failed:
        arrival.fail(TargetUnavailable("away"))
        with pytest.raises(TargetUnavailable):
            await staying
    else:
        arrival.tell("stored")
        assert await staying == "stored"
