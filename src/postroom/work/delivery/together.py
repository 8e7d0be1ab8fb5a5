"""Messages that are handed in together are written together: one commit for all of them that may be written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Final, TypeVar

Answer = TypeVar("Answer")
_PATIENCE_SECONDS: Final = 1.0  # who looks something up for longer than that is not waited for


class Gathering:
    """Opens when each of its seats has come to the store or has left on the way there, or has taken too long."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._on_their_way = len(ids)
        self._loop = asyncio.get_running_loop()
        self._patience = self._loop.call_later(_PATIENCE_SECONDS, self.open)
        self.seats: Final = tuple(Seat(self, one, self._loop.create_future()) for one in ids)

    def counts_down(self) -> None:
        self._on_their_way -= 1
        if not self._on_their_way:
            self._patience.cancel()
            self._loop.call_soon(self.open)

    def open(self) -> None:
        """In their order, and none before the others: who comes last waits for this as well."""
        for seat in self.seats:
            seat.go_on()


class Seat:
    """One message's place in a batch; its id is made beforehand, so that the batch's order is the order of the ids."""

    def __init__(self, gathering: Gathering, delivery_id: str, opened: asyncio.Future[None]) -> None:
        self.gathering = gathering
        self.delivery_id = delivery_id
        self._opened = opened
        self._is_counted = False
        self._is_taken = False

    def take(self) -> Seat | None:
        """For one message, however many come of it."""
        free, self._is_taken = not self._is_taken, True
        return self if free else None

    def leave(self) -> None:
        """It will not be written, or is already: no one need wait for it. Once is enough."""
        if not self._is_counted:
            self._is_counted = True
            self.gathering.counts_down()

    async def come(self) -> None:
        """Returns when all the others are here as well."""
        self.leave()
        await self._opened

    def go_on(self) -> None:
        if not self._opened.done():
            self._opened.set_result(None)


_offered: ContextVar[Seat | None] = ContextVar("seat", default=None)


def take_seat() -> Seat | None:
    """Of the message at hand; None when it came alone."""
    offered = _offered.get()
    return offered and offered.take()


async def together(works: Sequence[Callable[[], Awaitable[Answer]]], mint: Callable[[], str]) -> list[Answer]:
    """Each is done as if it were alone, up to its writing."""
    gathering = Gathering([mint() for _ in works])

    async def one(place: Seat, work: Callable[[], Awaitable[Answer]]) -> Answer:
        _offered.set(place)
        try:
            return await work()
        finally:
            place.leave()

    return await asyncio.gather(*(one(place, work) for place, work in zip(gathering.seats, works, strict=True)))
