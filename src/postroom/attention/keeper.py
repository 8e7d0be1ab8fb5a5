"""The loop of attention: judges who is due, hands over what was decided, and hears what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from postroom.attention.carrying import LEASE_SECONDS, Carrier
from postroom.attention.model import SendRow
from postroom.attention.turn import NoticeBook, SendQueue
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import seconds

LOOK_SECONDS: Final = 0.5  # how soon what another process decided, set or settled is seen here
_AT_A_TIME: Final = 50
_log = structlog.get_logger("postroom.attention")
Down = Callable[[], Awaitable[frozenset[str]]]


@dataclass(slots=True, kw_only=True)
class Keeper:
    """
    T1 decides and freezes under the person's lock, T2 submits under the send's key, T3 notes the delivery.

    Killed anywhere in between, the next round goes on: what was not committed was not decided, what was frozen is taken
    up when its lease ends, and the ledger keeps one delivery for each key.
    """

    book: NoticeBook
    queue: SendQueue
    carrier: Carrier
    channels_down: Down
    _told: frozenset[str] | None = field(init=False, default=None)  # at first no one was: channels may have come back

    async def look(self) -> int:
        """One round; when the next is due, unless something rings before."""
        await self.book.refresh()
        if not self.book.known:
            return self._soon()
        await self._hear_of_channels()
        await self._receipts()
        await self._judge_who_is_due()
        await self.carrier.take_back()
        more = await self._hand_over()
        return self.book.clock.now_us() if more else await self._next()

    async def _next(self) -> int:
        due_us, soon_us = await self.queue.next_due(), self._soon()
        return soon_us if due_us is None or due_us <= self.book.clock.now_us() else min(soon_us, due_us)

    def _soon(self) -> int:
        return self.book.clock.now_us() + seconds(LOOK_SECONDS)

    async def _hear_of_channels(self) -> None:
        """Everybody's notices may take another way when a channel breaks or comes back."""
        self.book.down = await self.channels_down()
        if self.book.down == self._told:
            return
        for person in sorted(self.book.known):
            await self._judge(person)
        self._told = self.book.down

    async def _receipts(self) -> None:
        ended = await self.queue.settled(_AT_A_TIME)
        if ended:
            await self.carrier.settle(ended)

    async def _judge_who_is_due(self) -> None:
        for person in await self.queue.due(self.book.clock.now_us(), _AT_A_TIME):
            await self._judge(person)

    async def _judge(self, person: str) -> None:
        await self.book.change(person, lambda _: ())

    async def _hand_over(self) -> bool:
        """Whether there may be more to hand over."""
        now_us = self.book.clock.now_us()
        lease_us = now_us + seconds(LEASE_SECONDS)
        rows = await self.queue.take_sends(now_us, lease_until_us=lease_us, limit=_AT_A_TIME)
        await asyncio.gather(*(self._carry(row) for row in rows))
        return len(rows) == _AT_A_TIME

    async def _carry(self, row: SendRow) -> None:
        """One that fails comes back when its lease has run out, and holds up no other."""
        try:
            await self.carrier.carry(row)
        except PostroomError as error:
            _log.warning("attention.not_handed_over", error=type(error).__name__)
