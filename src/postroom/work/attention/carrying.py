"""Hands over what was decided (T2) and notes what became of it (T3); both may happen again without harm."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.delivery import Status
from postroom.domain.errors import StoreUnavailable
from postroom.domain.notice_rows import SendRow, SettledSend, Wanted
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.domain.time import seconds
from postroom.work.attention.codec import decoded
from postroom.work.attention.facts import ApprovalAsked, ApprovalGiven, Fact, ReceiptIn, Returned, SendOutcome
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.ports import SendQueue, WayOut
from postroom.work.attention.state import SendKind
from postroom.work.attention.turn import Turn

LEASE_SECONDS: Final = 15.0  # handing over twice does no harm, so it need not outlast the longest wait
_AGAIN_SECONDS: Final = 60.0
Recall = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """`recall`: takes a delivery back that is not being sent yet; None where that cannot be done."""

    book: NoticeBook
    queue: SendQueue
    way_out: WayOut
    recall: Recall | None = None

    async def hand_over(self, row: SendRow, wait_seconds: float) -> Outcome:
        """The send's key is the delivery's key: a second time finds the first one's delivery."""
        outgoing = decoded(Outgoing, row.outgoing)
        outcome = await self.way_out.submit(outgoing, request_id=row.request_id, wait_seconds=wait_seconds)
        await self._note(row, outcome)
        return outcome

    async def _note(self, row: SendRow, outcome: Outcome) -> None:
        if outcome.delivery_id is None:
            await self._not_stored(row, outcome)
            return
        await self.queue.handed_over(row.key, row.fence, outcome.delivery_id)
        if outcome.delivery_status is Status.DELIVERED:
            await self._tell(row.person, row.key, lambda turn: [_arrived(turn, row.key)])

    async def _not_stored(self, row: SendRow, outcome: Outcome) -> None:
        """What the store could not take is tried again when the lease ends; what is refused for now is held."""
        error = outcome.error
        if error is None or isinstance(error, StoreUnavailable):
            return
        if not outcome.retryable:
            await self._tell(row.person, row.key, lambda turn: [_failed(turn, row.key)])
            return
        pause = seconds(error.retry_after_seconds or _AGAIN_SECONDS)
        await self._tell(row.person, row.key, lambda turn: [_returned(turn, row.key, turn.moment_us + pause)])

    async def settle(self, ended: Sequence[SettledSend]) -> None:
        """Receipts of deliveries that ended later."""
        for person in dict.fromkeys(one.person for one in ended):
            mine = [one for one in ended if one.person == person]
            keys = tuple(one.key for one in mine)
            await self.book.change(person, _Receipts(mine), wanted=Wanted(sends=keys))

    async def take_back(self, turn: Turn) -> None:
        """What another way was chosen for; what is being sent already stays, and its receipt counts."""
        replaced = [one.replaces for one in turn.decisions if one.replaces is not None]
        if self.recall is None or not replaced:
            return
        for row in await self.book.store.sends(replaced):
            if row.delivery_id is not None:
                await self.recall(row.delivery_id)

    async def _tell(self, person: str, key: str, facts: Callable[[Turn], Iterable[Fact]]) -> None:
        turn = await self.book.change(person, facts, wanted=Wanted(sends=(key,)))
        await self.take_back(turn)


@dataclass(frozen=True, slots=True)
class _Receipts:
    ended: Sequence[SettledSend]

    def __call__(self, turn: Turn) -> Iterable[Fact]:
        for one in self.ended:
            yield from _receipt(turn, one)


def _receipt(turn: Turn, one: SettledSend) -> Iterable[Fact]:
    if one.status is Status.DELIVERED:
        yield _arrived(turn, one.key)
    elif one.uncertain:
        yield ReceiptIn(at_us=turn.moment_us, send=one.key, outcome=SendOutcome.UNCERTAIN)
    elif one.refused and _is_first(turn, one.key):
        yield from _not_approved(turn, one.key)
    else:
        yield _failed(turn, one.key)


def _not_approved(turn: Turn, key: str) -> Iterable[Fact]:
    """It was never handed over, a person was asked, and said no: it takes no other way."""
    yield _returned(turn, key, turn.moment_us)
    for name in turn.state.sends[key].notices:
        yield ApprovalAsked(at_us=turn.moment_us, notice=name)
        yield ApprovalGiven(at_us=turn.moment_us, notice=name, approved=False)


def _is_first(turn: Turn, key: str) -> bool:
    send = turn.state.sends.get(key)
    return send is not None and send.kind in (SendKind.NOTICE, SendKind.DIGEST)


def _arrived(turn: Turn, key: str) -> Fact:
    return ReceiptIn(at_us=turn.moment_us, send=key, outcome=SendOutcome.OK)


def _failed(turn: Turn, key: str) -> Fact:
    return ReceiptIn(at_us=turn.moment_us, send=key, outcome=SendOutcome.FAILED)


def _returned(turn: Turn, key: str, until_us: int) -> Fact:
    return Returned(at_us=turn.moment_us, send=key, until_us=until_us)
