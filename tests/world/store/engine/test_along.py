from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from postroom.domain.errors import StoreUnavailable
from postroom.world.store.engine.along import Along, Waiting, carrying


class Bag:
    """Where two lines wait; what is put back lies in `again`."""

    def __init__(self) -> None:
        self.futures: list[asyncio.Future[None]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
        self.again: list[Any] = []

    def along(self) -> Along:
        return Along(take=lambda: list(zip("ab", self.futures, strict=True)), put_back=self._put_back)

    def _put_back(self, taken: Waiting) -> None:
        self.again.extend(item for item, _ in taken)


async def test_what_was_taken_along_is_written_when_the_other_is() -> None:
    bag = Bag()

    async def write(taken: Sequence[Any]) -> str:
        assert (taken, bag.futures[0].done()) == (["a", "b"], False)
        return "written"

    assert await carrying(bag.along(), write) == "written"
    assert [one.done() for one in bag.futures] == [True, True]


async def test_a_store_that_is_away_is_away_for_both() -> None:
    bag = Bag()

    async def write(taken: Sequence[Any]) -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable):
        await carrying(bag.along(), write)
    assert [type(one.exception()) for one in bag.futures] == [StoreUnavailable, StoreUnavailable]


async def test_what_cannot_be_written_together_is_written_apart() -> None:
    bag = Bag()

    async def write(taken: Sequence[Any]) -> str:
        if taken:
            raise ValueError("not together")
        return "written"

    assert await carrying(bag.along(), write) == "written"
    assert (bag.again, bag.futures[0].done()) == (["a", "b"], False)


async def test_what_breaks_alone_too_is_told_and_holds_up_nothing_that_was_taken_along() -> None:
    bag = Bag()

    async def write(taken: Sequence[Any]) -> None:
        raise ValueError("theirs")

    with pytest.raises(ValueError, match="theirs"):
        await carrying(bag.along(), write)
    assert (bag.again, bag.futures[0].done()) == (["a", "b"], False)


async def test_without_a_companion_nothing_is_taken() -> None:
    async def write(taken: Sequence[Any]) -> Sequence[Any]:
        return taken

    assert await carrying(None, write) == ()
