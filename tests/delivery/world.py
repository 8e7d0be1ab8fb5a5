"""A delivery plane of real parts on a real SQLite ledger, with a clock the test turns and channels it scripts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, select
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.services.ready_file import ready_file
from tests.support.counted import CountedLoops
from tests.support.kinds import KINDS

from postroom.delivery.accept import Acceptance, Plane
from postroom.delivery.afterwards.store import StoredSent
from postroom.delivery.dispatcher import Dispatcher, Outcomes, Recovery
from postroom.delivery.model import Claim, NewDelivery, Refusal, Settlement, Snapshot
from postroom.delivery.notify import deliver_envelope
from postroom.delivery.pipeline import Pipeline
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.rules.limits import LimitPolicy
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.rules.target import as_it_stands
from postroom.delivery.seams import Breakers, Limits
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.delivery.store.limits import MemoryBreakers, MemoryLimits, StoredCircuits
from postroom.delivery.store.sqlite import SqliteLedger
from postroom.delivery.store.tables import delivery_attempts, delivery_requests
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Loop
from postroom.kernel.values.errors import PostroomError, StoreUnavailable
from postroom.kernel.values.ids import IdMint, seconds
from postroom.message.channel import UNDECLARED
from postroom.message.delivery import Message, Receipt

Result = TypeVar("Result")
_PASSES = 40
PART_SEPARATOR = "|"


class ScriptedChannel:
    """
    A channel that does what the script says, call by call, and delivers once the script is over.

    A step is an error to raise or an event to wait for. `|` in a text starts another part.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.capabilities = KINDS.get(name, UNDECLARED)
        self._clock = clock
        self.script: deque[PostroomError | Exception | asyncio.Event] = deque()
        self.always: PostroomError | asyncio.Event | None = None
        self.calls: list[Call] = []
        self.active = 0
        self.most_active = 0
        self.unpreparable: Exception | None = None
        self._called = asyncio.Condition()

    def address(self, text: str) -> str | None:
        return text if text.lstrip("-").isdigit() or "@" in text else None

    def prepare(self, message: Message) -> Sequence[Any]:
        if self.unpreparable is not None:
            raise self.unpreparable
        return [Part(message, text) for text in message.text.split(PART_SEPARATOR)]

    async def send(self, part: Any, timeout_seconds: float) -> Receipt:
        call = Call(part.message, part.text, self._clock.now_us(), timeout_seconds)
        self.calls.append(call)
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        async with self._called:
            self._called.notify_all()
        try:
            await self._act(self.script.popleft() if self.script else self.always)
        finally:
            self.active -= 1
        return Receipt(str(len(self.calls)))

    async def close(self) -> None:
        """Nothing is open."""

    async def called(self, times: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self._called:
            await self._called.wait_for(lambda: len(self.calls) >= times)

    @property
    def texts(self) -> list[str]:
        return [call.text for call in self.calls]

    async def _act(self, step: PostroomError | Exception | asyncio.Event | None) -> None:
        if isinstance(step, asyncio.Event):
            await step.wait()
        elif step is not None:
            raise step


@dataclass(frozen=True, slots=True)
class Part:
    message: Message
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    message: Message
    text: str
    at_us: int
    timeout_seconds: float


class WatchedDatabase(SqliteDatabase):
    """Knows whether anything is under way; can be away, before the write or only for its answer, or keep it back."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.away = False
        self.lost_answers = 0
        self.hold_answers: asyncio.Event | None = None
        self.under_way = 0
        self.finished = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        return await self._watched(super().read, work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        result = await self._watched(super().write, work)
        if self.hold_answers is not None:
            await self.hold_answers.wait()
        if self.lost_answers:
            self.lost_answers -= 1
            raise StoreUnavailable("the answer was lost")
        return result

    async def quiet(self) -> None:
        await self._quiet.wait()

    async def _watched(self, run: Any, work: Callable[[Connection], Result]) -> Result:
        if self.away:
            raise StoreUnavailable("away")
        self.under_way += 1
        self._quiet.clear()
        try:
            result: Result = await run(work)
            return result
        finally:
            self.under_way -= 1
            self.finished += 1
            if not self.under_way:
                self._quiet.set()


class Book:
    """An owner on every channel, and one contact."""

    async def addresses(self, name: str, channel: str) -> Sequence[str]:
        return {"ann": ["2000"], "twin": ["3000", "3001"]}.get(name.lower(), [])

    async def owner(self, channel: str) -> str | None:
        return "owner@example.com" if channel == "email" else "1000"

    async def channels_of(self, name: str | None) -> Sequence[str]:
        return {None: ["pager", "email", "telegram"], "ann": ["telegram"]}.get(name and name.lower(), [])


@dataclass(slots=True)
class Tally(DeliveryMeter):
    """In plain lists."""

    stored: list[NewDelivery] = field(default_factory=list)
    repeats: list[Snapshot] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    endings: list[Settlement] = field(default_factory=list)
    bugs: list[Exception] = field(default_factory=list)

    def accepted(self, new: NewDelivery) -> None:
        self.stored.append(new)

    def repeated(self, snapshot: Snapshot) -> None:
        self.repeats.append(snapshot)

    def refused(self, refusal: Refusal) -> None:
        self.refusals.append(refusal)

    def settled(self, done: Settlement) -> None:
        self.endings.append(done)

    def bug(self, claim: Claim | None, error: Exception) -> None:
        self.bugs.append(error)


@dataclass(slots=True, kw_only=True)
class World:
    clock: FakeClock
    database: WatchedDatabase
    channels: dict[str, ScriptedChannel]
    tally: Tally
    limits: Limits
    breakers: Breakers
    pipeline: Pipeline
    plane: Plane
    loops: CountedLoops
    _asked: int = 0

    @property
    def telegram(self) -> ScriptedChannel:
        return self.channels["telegram"]

    @property
    def email(self) -> ScriptedChannel:
        return self.channels["email"]

    @property
    def dispatcher(self) -> Dispatcher:
        return self.plane.dispatcher

    async def send(self, message: str = "Hello", *, wait_seconds: float = 0, **fields: Any) -> dict[str, Any]:
        """A send as the messenger receives it; fields of the delivery or of the envelope."""
        self._asked += 1
        request_id = fields.pop("request_id", f"request-{self._asked}")
        answer = await deliver_envelope(
            self.plane, envelope(message, **fields), request_id=request_id, wait_seconds=wait_seconds
        )
        await self.idle()
        return answer

    def start_sending(self, message: str = "Hello", *, wait_seconds: float = 20, **fields: Any) -> Any:
        """The same, as a task of a caller who waits."""
        self._asked += 1
        request_id = fields.pop("request_id", f"request-{self._asked}")
        return asyncio.create_task(
            deliver_envelope(self.plane, envelope(message, **fields), request_id=request_id, wait_seconds=wait_seconds)
        )

    async def idle(self) -> None:
        """Until everything that can happen without the clock or a channel has happened."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                finished = self.database.finished
                for _ in range(_PASSES):
                    await asyncio.sleep(0)
                if not self.database.under_way and self.database.finished == finished:
                    return  # and nothing came back during the last of those passes
                await self.database.quiet()

    async def advance(self, by_seconds: float) -> None:
        """Stops at every moment somebody waits for, and lets the store do its part there."""
        end_us = self.clock.now_us() + seconds(by_seconds)
        await self.idle()
        while (due_us := self.clock.next_us) is not None and due_us <= end_us:
            await self.clock.advance((due_us - self.clock.now_us()) / 1_000_000)
            await self.idle()
        await self.clock.advance((end_us - self.clock.now_us()) / 1_000_000)
        await self.idle()

    async def rows(self, table: Any = delivery_requests) -> list[dict[str, Any]]:
        statement = select(table).order_by(*table.primary_key.columns)
        return await self.database.read(
            lambda connection: [dict(row) for row in connection.execute(statement).mappings()]
        )

    async def row(self) -> dict[str, Any]:
        [row] = await self.rows()
        return row

    async def attempts(self) -> list[tuple[str, str | None]]:
        return [(row["outcome"], row["error_class"]) for row in await self.rows(delivery_attempts)]


def envelope(message: str = "Hello", **fields: Any) -> dict[str, Any]:
    top = {"priority", "idempotency_key", "on_uncertain", "request_context", "origin_butler"}
    delivery = {"intent": "send", "channel": "telegram", "message": message, "recipient": "1000"}
    shape: dict[str, Any] = {"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery}
    for name, value in fields.items():
        (shape if name in top else delivery)[name] = value
    return {**shape, "delivery": {name: value for name, value in delivery.items() if value is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a world may be given instead of its own."""

    ledger: DeliveryLedger | None = None
    limits: Limits | None = None
    breakers: Breakers | None = None
    policy: DeliveryPolicy = field(default_factory=DeliveryPolicy)


@asynccontextmanager
async def living_world(
    path: Path, clock: FakeClock, parts: Parts | None = None, *, running: bool = True, drain_seconds: float = 5.0
) -> AsyncIterator[World]:
    """Recovers, runs and drains as the household's own plane does."""
    world = build(WatchedDatabase(ready_file(path)), clock, parts or Parts())
    for name, circuit in (await world.pipeline.circuits.load()).items():
        await world.breakers.restore(name, circuit)
    await world.dispatcher.start()
    try:
        async with _looking(world) if running else nullcontext():
            try:
                await world.idle()
                yield world
            finally:
                world.database.away = False
                await world.dispatcher.drain(drain_seconds)
                world.plane.outcomes.let_go()
    finally:
        await world.database.close()


def _looking(world: World) -> AbstractAsyncContextManager[Loop]:
    one = world.dispatcher
    return world.loops.running("dispatcher", one.look, wake=one.woken, stopping=one.stopping)


def build(database: WatchedDatabase, clock: FakeClock, parts: Parts) -> World:
    own = MemoryLimits(clock)
    mint = IdMint()
    tally = Tally()
    channels = {name: ScriptedChannel(name, clock) for name in ("telegram", "email")}
    tokens = iter(range(10**9))
    limits = parts.limits or own
    breakers = parts.breakers or MemoryBreakers(parts.policy.breaker, clock, lambda: str(next(tokens)))
    ledger = parts.ledger or SqliteLedger(database)
    stopping = asyncio.Event()
    pipeline = Pipeline(
        ledger=ledger,
        as_it_stands=partial(as_it_stands, StoredSent(database).sent),
        channels=channels,
        limits=limits,
        breakers=breakers,
        circuits=StoredCircuits(database),
        policy=parts.policy,
        clock=clock,
        meter=tally,
        dice=lambda: 0.5,
        mint=mint.mint,
        stopping=stopping,
    )
    outcomes = Outcomes(ledger, clock)
    recovery = Recovery(
        ledger=ledger,
        limits=limits,
        retry=parts.policy.retry,
        clock=clock,
        meter=tally,
        dice=lambda: 0.5,
        mint=mint.mint,
        can={name: channel.capabilities for name, channel in channels.items()},
    )
    dispatcher = Dispatcher(
        ledger=ledger,
        channels=channels,
        pipeline=pipeline,
        recovery=recovery,
        outcomes=outcomes,
        policy=parts.policy,
        clock=clock,
        meter=tally,
        stopping=stopping,
    )
    acceptance = Acceptance(
        ledger=ledger,
        channels=channels,
        book=Book(),
        sent=StoredSent(database),
        limits=limits,
        breakers=breakers,
        policy=parts.policy,
        pipeline=pipeline,
        dispatcher=dispatcher,
        clock=clock,
        meter=tally,
        mint=mint.mint,
    )
    plane = Plane(acceptance=acceptance, dispatcher=dispatcher, outcomes=outcomes, known_channels=KINDS)
    return World(
        clock=clock,
        database=database,
        channels=channels,
        tally=tally,
        limits=limits,
        breakers=breakers,
        pipeline=pipeline,
        plane=plane,
        loops=CountedLoops(clock),
    )


def generous(**changes: Any) -> DeliveryPolicy:
    """No limit in the way, no spacing, unless told otherwise."""
    free = 10**9
    lifted = LimitPolicy(
        global_per_minute=free,
        in_flight=free,
        recipient_per_minute=free,
        channels={"telegram.bot": free, "email.bot": free},
    )
    timeouts = {name: one.timeout_seconds for name, one in KINDS.items()}
    values: Mapping[str, Any] = {"limits": lifted, "spacing_seconds": {}, "timeouts_seconds": timeouts, **changes}
    return DeliveryPolicy(**values)
