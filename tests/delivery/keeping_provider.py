"""A provider that keeps what it takes and may cut the line, and planes that are killed and built anew."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from sqlalchemy import select
from tests.clock import FakeClock
from tests.delivery.world import Tally, generous
from tests.opened_database import ledger_of
from tests.patience import PATIENCE_SECONDS
from tests.support.sample_deliveries import new_delivery

from postroom.delivery.afterwards.store import StoredSent
from postroom.delivery.dispatcher import Recovery
from postroom.delivery.model import Lease, NewDelivery
from postroom.delivery.pipeline import Pipeline, Ready
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.rules.retry import RetryPolicy
from postroom.delivery.rules.target import as_it_stands
from postroom.delivery.store.limits import MemoryBreakers, MemoryLimits, StoredCircuits
from postroom.delivery.store.tables import delivery_attempts, delivery_dead_letter, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import OutcomeUncertain, ProviderFailed, ProviderThrottled, TargetUnavailable
from postroom.kernel.values.ids import SECOND_US, DeliveryId, IdMint, to_us
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, Message, OnUncertain, Receipt

CHANNEL = "parrot"
ASKED = Capabilities(reconciles=True)
DROPS = Capabilities(dedupes_for_seconds=600)
BOTH = Capabilities(reconciles=True, dedupes_for_seconds=600)
NEITHER = Capabilities()


class Act(StrEnum):
    """What becomes of one call."""

    OK = "ok"
    CUT_AFTER = "cut_after_accept"
    CUT_BEFORE = "cut_before_accept"
    BROKE_AFTER = "5xx_after_accept"
    REFUSED = "unavailable"
    LOST = "worker_lost"  # after the provider took it
    LOST_BEFORE = "worker_lost_before"


class FindAct(StrEnum):
    """What becomes of one question."""

    TELLS = "tells"
    FAILS = "fails"
    THROTTLES = "throttles"


@dataclass(frozen=True, slots=True)
class Part:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Kept:
    key: str
    text: str
    at_us: int


@dataclass(slots=True)
class Provider:
    """In memory and outside of us: it outlives every plane."""

    clock: FakeClock
    dedupes_for_seconds: float
    acts: list[Act] = field(default_factory=list)
    finds: list[FindAct] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    calls: list[Part] = field(default_factory=list)
    asked: list[tuple[Part, int]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.kept]

    def copies(self, key: str) -> int:
        return sum(one.key == key for one in self.kept)

    def keep(self, part: Part) -> Receipt:
        earlier = self.known(part.key)
        window_us = self.dedupes_for_seconds * SECOND_US
        if earlier is not None and self.clock.now_us() - self.kept[earlier].at_us < window_us:
            return receipt(earlier)
        self.kept.append(Kept(part.key, part.text, self.clock.now_us()))
        return receipt(len(self.kept) - 1)

    def known(self, key: str, since_us: int = 0) -> int | None:
        found = [place for place, one in enumerate(self.kept) if one.key == key and one.at_us >= since_us]
        return found[0] if found else None


def receipt(place: int) -> Receipt:
    return Receipt(f"m{place}", conversation="D1")


class KeepingChannel:
    """The protocol of a channel over that provider; `|` in a text starts another part."""

    def __init__(self, provider: Provider, capabilities: Capabilities) -> None:
        self.name = CHANNEL
        self.capabilities = capabilities
        self._provider = provider
        self.lost = asyncio.Event()

    def address(self, text: str) -> str | None:
        return text

    def prepare(self, message: Message) -> Sequence[Part]:
        *firsts, last = message.text.split("|")
        texts = [*firsts, f"{last} {REPEAT_MARK}" if message.repeated else last]
        return [Part(f"{message.delivery_id}/{place}", text) for place, text in enumerate(texts)]

    async def send(self, part: Any, timeout_seconds: float) -> Receipt:
        self._provider.calls.append(part)
        await self._provider.clock.advance(1.0)
        act = self._provider.acts.pop(0) if self._provider.acts else Act.OK
        if act is Act.REFUSED:
            raise TargetUnavailable("parrot is closed")
        if act is Act.CUT_BEFORE:
            raise OutcomeUncertain("the line was cut")
        if act is Act.LOST_BEFORE:
            await self._never()
        taken = self._provider.keep(part)
        if act is Act.LOST:
            await self._never()
        if act is Act.CUT_AFTER:
            raise OutcomeUncertain("the line was cut")
        if act is Act.BROKE_AFTER:
            raise ProviderFailed("parrot answered 502")
        return taken

    async def _never(self) -> None:
        self.lost.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Nothing is open."""


class AnsweringChannel(KeepingChannel):
    async def find(self, part: Any, since: datetime, timeout_seconds: float) -> Receipt | None:
        self._provider.asked.append((part, to_us(since)))
        act = self._provider.finds.pop(0) if self._provider.finds else FindAct.TELLS
        if act is FindAct.FAILS:
            raise TargetUnavailable("parrot does not answer questions")
        if act is FindAct.THROTTLES:
            raise ProviderThrottled("parrot is busy", retry_after_seconds=40)
        place = self._provider.known(part.key, to_us(since))
        return None if place is None else receipt(place)


@dataclass(slots=True, kw_only=True)
class House:
    """Every attempt is made by a plane of its own: nothing is remembered between two of them but what is stored."""

    database: Database
    clock: FakeClock
    provider: Provider
    can: Capabilities
    policy: DeliveryPolicy
    mint: IdMint = field(default_factory=IdMint)
    tally: Tally = field(default_factory=Tally)

    async def accept(self, text: str = "Hello", on_uncertain: OnUncertain = OnUncertain.RESEND) -> NewDelivery:
        """As a message of an ordinary day: written with claim and mark, and sent at once."""
        now = self.clock.now_us()
        new = new_delivery(
            id=DeliveryId(self.mint.mint(now)),
            channel=CHANNEL,
            address="1",
            message=text,
            on_uncertain=on_uncertain,
            created_at_us=now,
        )
        channel, pipeline, _ = self._plane()
        lease = Lease(until_us=now + 30 * SECOND_US, sending=True)
        inserted = await ledger_of(self.database).insert(new, lease)
        assert inserted.claim is not None
        permit = await pipeline.go_ahead(CHANNEL, new.address)
        ready = Ready(parts=channel.prepare(new.to_message()), permit=permit)
        await self._until_lost(channel, pipeline.attempt(inserted.claim, ready))
        return new

    async def go_on(self, rounds: int = 12) -> None:
        """Plane after plane, each with the time it waits for, until nothing is open."""
        for _ in range(rounds):
            if not await self._round():
                return
        raise AssertionError("it goes on and on")

    async def once(self) -> None:
        assert await self._round()

    async def _round(self) -> bool:
        """What the dispatcher does: take over what is lost, then what is due."""
        ledger, now = ledger_of(self.database), self.clock.now_us()
        channel, pipeline, recovery = self._plane()
        until = now + 30 * SECOND_US
        lost = await ledger.reclaim(expired_before_us=2**62, now_us=now, lease_until_us=until, limit=10)
        for claim in lost:
            await recovery.settle(claim)
        due = await ledger.next_due_us(0)
        if due is None:
            return bool(lost)
        await self.clock.advance(max(0, due - self.clock.now_us()) / SECOND_US)
        now = self.clock.now_us()
        for claim in await ledger.claim(CHANNEL, now_us=now, lease_until_us=now + 30 * SECOND_US, limit=10):
            await self._until_lost(channel, pipeline.attempt(claim))
        return True

    async def _until_lost(self, channel: KeepingChannel, attempt: Any) -> None:
        working, lost = asyncio.ensure_future(attempt), asyncio.ensure_future(channel.lost.wait())
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
            lost.cancel()
            if not working.done():
                working.cancel()  # nothing is written any more, as when the process is killed
                await asyncio.wait({working})
        if not working.cancelled():
            working.result()

    def _plane(self) -> tuple[KeepingChannel, Pipeline, Recovery]:
        kind = AnsweringChannel if self.can.reconciles else KeepingChannel
        channel, ledger, limits = kind(self.provider, self.can), ledger_of(self.database), MemoryLimits(self.clock)
        numbers = iter(range(10**9))
        pipeline = Pipeline(
            ledger=ledger,
            as_it_stands=partial(as_it_stands, StoredSent(self.database).sent),
            channels={CHANNEL: channel},
            limits=limits,
            breakers=MemoryBreakers(self.policy.breaker, self.clock, lambda: str(next(numbers))),
            circuits=StoredCircuits(self.database),
            policy=self.policy,
            clock=self.clock,
            meter=self.tally,
            dice=lambda: 0.5,
            mint=self.mint.mint,
            stopping=asyncio.Event(),
        )
        recovery = Recovery(
            ledger=ledger,
            limits=limits,
            retry=self.policy.retry,
            clock=self.clock,
            meter=self.tally,
            dice=lambda: 0.5,
            mint=self.mint.mint,
            can={CHANNEL: self.can},
        )
        return channel, pipeline, recovery

    async def rows(self, table: Any) -> list[dict[str, Any]]:
        asked = select(table).order_by(*table.primary_key)
        return await self.database.read(lambda connection: [dict(row) for row in connection.execute(asked).mappings()])

    async def row(self) -> dict[str, Any]:
        return (await self.rows(delivery_requests))[-1]

    async def row_of(self, delivery_id: str) -> dict[str, Any]:
        asked = select(delivery_requests).where(delivery_requests.c.id == delivery_id)
        return await self.database.read(lambda connection: dict(connection.execute(asked).mappings().one()))

    async def attempts(self) -> list[tuple[str, str | None]]:
        return [(one["outcome"], one["asked"]) for one in await self.rows(delivery_attempts)]

    async def letter(self) -> tuple[str, str]:
        [letter] = await self.rows(delivery_dead_letter)
        return letter["quarantine_reason"], letter["error_summary"]


def house(database: Database, can: Capabilities, *acts: Act, finds: Sequence[FindAct] = (), **retry: Any) -> House:
    clock = FakeClock()
    return House(
        database=database,
        clock=clock,
        provider=Provider(clock, can.dedupes_for_seconds, list(acts), list(finds)),
        can=can,
        policy=generous(retry=RetryPolicy(jitter=0, **retry)),
    )


def ended(row: dict[str, Any]) -> tuple[str, bool]:
    return row["status"], bool(row["possible_duplicate"])
