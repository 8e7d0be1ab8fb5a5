from __future__ import annotations

import asyncio
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

    with carrying(bag.along()) as taken:
        assert (taken, bag.futures[0].done()) == (["a", "b"], False)

    assert [one.done() for one in bag.futures] == [True, True]


async def test_a_store_that_is_away_is_away_for_both() -> None:
    bag = Bag()

    with pytest.raises(StoreUnavailable), carrying(bag.along()):
        raise StoreUnavailable("gone")

    assert [type(one.exception()) for one in bag.futures] == [StoreUnavailable, StoreUnavailable]


async def test_what_the_other_broke_goes_by_itself() -> None:
    bag = Bag()

    with pytest.raises(ValueError, match="theirs"), carrying(bag.along()):
        raise ValueError("theirs")

    assert (bag.again, bag.futures[0].done()) == (["a", "b"], False)


def test_without_a_companion_nothing_is_taken() -> None:
    with carrying(None) as taken:
        assert taken == ()
