"""The loop of attention: hands over what was decided, hears what became of it, and judges who is due."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import structlog

from postroom.attention.model import NoticeState
from postroom.attention.state import (
    Fact,
    MayArriveTwice,
    NoticeRefused,
    NoticeSend,
    ReceiptIn,
    Returned,
    SendKind,
    SendOutcome,
    SendRow,
    SettledSend,
    Wanted,
    Withdrawn,
)
from postroom.attention.turn import NoticeBook, Turn
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.rules import Correcting, CorrectionAct, CorrectionAnswer, CorrectionStatus
from postroom.delivery.rules.policy import DeliveryDraft, caller_key
from postroom.kernel.values.errors import PostroomError, StoreUnavailable, TargetUnavailable
from postroom.kernel.values.ids import DeliveryId, seconds
from postroom.kernel.values.moments import Due
from postroom.message.delivery import Status
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing

LOOK_SECONDS: Final = 0.5  # how soon what another process decided, set or settled is seen here
LEASE_SECONDS: Final = 15.0  # handing over twice does no harm, so it need not outlast the longest wait
_ACTOR: Final = "attention"
_ARRIVED: Final = (CorrectionStatus.REVISED, CorrectionStatus.RECALLED)
_AGAIN_SECONDS: Final = 60.0
_AT_A_TIME: Final = 50
_log = structlog.get_logger("postroom.attention")
_Down = Callable[[], Awaitable[frozenset[str]]]


# -- What became of a delivery, as facts about its notices --


def _receipt_in(turn: Turn, key: str, outcome: SendOutcome) -> Fact:
    return ReceiptIn(at_us=turn.moment_us, send=key, outcome=outcome)


def _receipts(ended: Sequence[SettledSend], turn: Turn) -> Iterable[Fact]:
    return [fact for one in ended for fact in _receipt(turn, one)]


def _twice(key: str, turn: Turn) -> Iterable[Fact]:
    """Of a send that another way was chosen for, and that could not be taken back any more."""
    send = turn.state.sends[key]
    for name in send.notices:
        yield MayArriveTwice(at_us=turn.moment_us, notice=name, send=send.key, channel=send.channel)


def _receipt(turn: Turn, one: SettledSend) -> Iterable[Fact]:
    send = turn.state.sends[one.key]
    if one.status is Status.DELIVERED:
        yield _receipt_in(turn, one.key, SendOutcome.OK)
    elif one.uncertain:
        yield _receipt_in(turn, one.key, SendOutcome.UNCERTAIN)
    elif one.withdrawn and send.replaced:
        yield _receipt_in(turn, one.key, SendOutcome.WITHDRAWN)
    elif (one.withdrawn or one.refused) and send.kind in (SendKind.NOTICE, SendKind.DIGEST):
        yield from _given_up(turn, send, withdrawn=one.withdrawn)
    else:
        yield _receipt_in(turn, one.key, SendOutcome.FAILED)


def _given_up(turn: Turn, send: NoticeSend, *, withdrawn: bool) -> Iterable[Fact]:
    """It was never sent, and a person or its sender said that it should not be: it takes no other way."""
    at = turn.moment_us
    yield Returned(at_us=at, send=send.key, until_us=at)
    for name in send.notices:
        if withdrawn:
            yield Withdrawn(at_us=at, agent=turn.state.notices[name].notice.agent, notice=name)
        else:
            yield NoticeRefused(at_us=at, notice=name)


# -- T2 hands over what was decided, T3 notes what became of it; both may happen again without harm --


@dataclass(frozen=True, slots=True, kw_only=True)
class Amends:
    """What was handed over before, as far as that can still be changed, by the same corrections as everything else."""

    corrections: Corrections

    async def under(self, outgoing: Outgoing) -> str | None:
        """The delivery that has the key of this message already."""
        key = caller_key(outgoing.origin_butler, outgoing.idempotency_key or "")
        found = await self.corrections.plane.acceptance.ledger.find(key)
        return found.id if found else None

    async def take_back(self, delivery_id: str) -> bool:
        """Withdraws what is not being sent yet; False: it is being sent, or has arrived."""
        return await self.corrections.take_back(DeliveryId(delivery_id), actor=_ACTOR)

    async def amend(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome | None:
        """
        Edits or deletes what it `revises` where that stands; None where that cannot be done.

        A second time finds the first one's delivery: by the send's key, and what is recalled by that it was.
        """
        channel = self.corrections.plane.acceptance.channels.get(outgoing.channel)
        if channel is None or not (channel.capabilities.edits or (channel.capabilities.deletes and outgoing.deletes)):
            return None
        answer = await self.corrections.correct(_asked(outgoing), request_id=request_id, wait_seconds=wait_seconds)
        return _outcome(outgoing, answer, request_id)


def _asked(outgoing: Outgoing) -> Correcting:
    recalls = outgoing.deletes
    return Correcting(
        act=CorrectionAct.RECALL if recalls else CorrectionAct.REVISE,
        delivery_id=outgoing.revises or DeliveryId(""),
        actor=_ACTOR,
        sender=None,
        message="" if recalls else outgoing.message,
        subject=None if recalls else outgoing.subject,
        format=None if recalls else outgoing.format,
        idempotency_key=None if recalls else outgoing.idempotency_key,
        own_card=True,
    )


def _outcome(outgoing: Outgoing, answer: CorrectionAnswer, request_id: str) -> Outcome | None:
    """None when nothing came of it and nothing will: it is said in a message instead."""
    if answer.delivery_id is None:
        if isinstance(answer.error, TargetUnavailable):
            return Outcome(status=AnswerStatus.ERROR, request_id=request_id, error=answer.error, retryable=True)
        return None
    arrived = answer.status in _ARRIVED
    return Outcome(
        status=AnswerStatus.OK if arrived else AnswerStatus.ACCEPTED,
        request_id=request_id,
        channel=outgoing.channel,
        delivery_id=answer.delivery_id,
        delivery_status=Status.DELIVERED if arrived else Status.PENDING,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The one way out of attention; `amends` changes what has been handed over already."""

    book: NoticeBook
    way_out: Plane
    amends: Amends

    async def carry(self, row: SendRow) -> None:
        """What was overtaken by another way before it was handed over is not handed over any more."""
        if row.send.replaced:
            await self._overtaken(row)
        else:
            await self.hand_over(row, 0)

    async def hand_over(self, row: SendRow, wait_seconds: float, draft: DeliveryDraft | None = None) -> Outcome:
        """
        The send's key is the delivery's key: a second time finds the first one's delivery.

        `draft`: of the notice's message, where that is at hand.
        """
        outcome = await self.submitted(row, wait_seconds, draft)
        await self._note(row, outcome)
        return outcome

    async def submitted(self, row: SendRow, wait_seconds: float, draft: DeliveryDraft | None = None) -> Outcome:
        """By changing what has arrived, where that can be done; else as a message of its own."""
        outgoing, request_id = row.message, row.request_id
        if outgoing.revises is not None:
            amended = await self.amends.amend(outgoing, request_id=request_id, wait_seconds=wait_seconds)
            if amended is not None:
                return amended
        return await self.way_out.submit(_anew(outgoing), request_id=request_id, wait_seconds=wait_seconds, draft=draft)

    async def _overtaken(self, row: SendRow) -> None:
        found = await self.amends.under(row.message)
        if found is not None:
            await self.book.store.handed_over(row.key, row.fence, found)
        else:
            await self._came_to(row, SendOutcome.WITHDRAWN)

    async def _note(self, row: SendRow, outcome: Outcome) -> None:
        if outcome.delivery_id is None:
            await self._not_stored(row, outcome)
            return
        await self.book.store.handed_over(row.key, row.fence, outcome.delivery_id)
        if outcome.delivery_status is Status.DELIVERED:
            await self._came_to(row, SendOutcome.OK)

    async def _not_stored(self, row: SendRow, outcome: Outcome) -> None:
        """What the store could not take is tried again when the lease ends; what is refused for now is held."""
        error = outcome.error
        if error is None or isinstance(error, StoreUnavailable):
            return
        if not outcome.retryable:
            await self._came_to(row, SendOutcome.FAILED)
            return
        pause = seconds(error.retry_after_seconds or _AGAIN_SECONDS)

        def held(turn: Turn) -> list[Fact]:
            return [Returned(at_us=turn.moment_us, send=row.key, until_us=turn.moment_us + pause)]

        await self._tell(row, held)

    async def settle(self, ended: Sequence[SettledSend]) -> None:
        """Receipts of deliveries that ended later; what could not be changed where it stands is sent as a message."""
        refused = {one.key: outgoing for one in ended if (outgoing := _not_amended(one)) is not None}
        for one in ended:
            if one.key in refused:
                await self.book.store.send_anew(one.key, one.delivery_id, _anew(refused[one.key]))
        rest = [one for one in ended if one.key not in refused]
        for person in dict.fromkeys(one.person for one in rest):
            mine = [one for one in rest if one.person == person]
            keys = tuple(one.key for one in mine)
            await self.book.change(person, partial(_receipts, mine), wanted=Wanted(sends=keys))

    async def take_back(self) -> None:
        """What another way was chosen for. Asked every round, so that dying in between only puts it off."""
        for row in await self.book.store.replaced(_AT_A_TIME):
            taken = await self.amends.take_back(row.delivery_id or "")
            if not taken and not row.send.twice:
                await self._tell(row, partial(_twice, row.key))

    async def _came_to(self, row: SendRow, outcome: SendOutcome) -> None:
        await self._tell(row, lambda turn: [_receipt_in(turn, row.key, outcome)])

    async def _tell(self, row: SendRow, facts: Callable[[Turn], Iterable[Fact]]) -> None:
        await self.book.change(row.person, facts, wanted=Wanted(sends=(row.key,)))


def _anew(outgoing: Outgoing) -> Outgoing:
    """As a message of its own."""
    return replace(outgoing, revises=None, deletes=False) if outgoing.revises is not None else outgoing


def _not_amended(one: SettledSend) -> Outgoing | None:
    if one.status is Status.DELIVERED or one.uncertain or one.refused or one.withdrawn:
        return None
    outgoing = one.outgoing
    return outgoing if outgoing is not None and outgoing.revises is not None else None


# -- The rounds --


@dataclass(slots=True, kw_only=True)
class Keeper:
    """
    T1 decides and freezes under the person's lock, T2 submits under the send's key, T3 notes the delivery.

    Killed anywhere in between, the next round goes on: what was not committed was not decided, what was frozen is taken
    up when its lease ends, and the ledger keeps one delivery for each key.
    """

    book: NoticeBook
    carrier: Carrier
    channels_down: _Down
    _told: frozenset[str] | None = field(init=False, default=None)  # at first no one was: channels may have come back

    async def look(self) -> int:
        """One round; when the next is due, unless something rings before."""
        await self.book.refresh()
        if not self.book.known:
            return self._soon()
        await self._hear_of_channels()
        if ended := await self.book.store.settled(_AT_A_TIME):
            await self.carrier.settle(ended)
        await self.carrier.take_back()
        if await self._hand_over():
            return self.book.clock.now_us()
        return self._soon()

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

    async def take(self, due: Due) -> None:
        """What is due of one person's notices: the timekeeper found it."""
        await self._judge(due.id)

    async def waits_on(self, person: str) -> Collection[str]:
        """The channels on which they may have answered what waits for an answer."""
        loaded = await self.book.store.read(person, self.book.wanted(person))
        waiting = [one.standing for one in loaded.notices if one.standing.state is NoticeState.WAITING]
        return {channel for standing in waiting for _, channel in standing.reached}

    async def _judge(self, person: str) -> None:
        await self.book.change(person, lambda _: ())

    async def _hand_over(self) -> bool:
        """Whether there may be more to hand over."""
        now_us = self.book.clock.now_us()
        lease_us = now_us + seconds(LEASE_SECONDS)
        rows = await self.book.store.take_sends(now_us, lease_until_us=lease_us, limit=_AT_A_TIME)
        await asyncio.gather(*(self._carry(row) for row in rows))
        return len(rows) == _AT_A_TIME

    async def _carry(self, row: SendRow) -> None:
        """One that fails comes back when its lease has run out, and holds up no other."""
        try:
            await self.carrier.carry(row)
        except PostroomError as error:
            _log.warning("attention.not_handed_over", error=type(error).__name__)
