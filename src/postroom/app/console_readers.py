"""What the console's pages read: the ledger, the inbox, the questions, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from postroom.app.channels import known_channels
from postroom.app.policy import delivery_policy
from postroom.domain.breaker import BreakerPolicy, Circuit, as_of
from postroom.domain.dead_letter import DeadLetter
from postroom.domain.delivery import Priority
from postroom.domain.enquiry import DeadLetterQuery, DeliveryQuery, Page
from postroom.domain.figures import Depth
from postroom.domain.ids import DeadLetterId
from postroom.domain.overview import Slice, Tally, Trouble
from postroom.domain.principal import Principal
from postroom.system.settings import Settings
from postroom.work.inbox.owner import inbox_of
from postroom.work.inbox.ports import Notes
from postroom.world.store.deliveries.dead_letters import StoredDeadLetters
from postroom.world.store.deliveries.health_series import series
from postroom.world.store.deliveries.lookup import Found, identified, lookup
from postroom.world.store.deliveries.overview import StoredOverview
from postroom.world.store.deliveries.search import StoredDeliveries
from postroom.world.store.deliveries.statistics import StoredFigures
from postroom.world.store.deliveries.story import delivery_file
from postroom.world.store.engine.database import Database
from postroom.world.store.questions.figures import QuestionFigures
from postroom.world.store.shared.circuits import StoredCircuits

_OVERLAP_US = 10_000_000


class HouseholdOverview:
    """The first page, read from the ledger and from nothing else."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._record = StoredOverview(database)
        self._circuits = StoredCircuits(database)
        self._figures = StoredFigures(database)
        self._deliveries = StoredDeliveries(database)
        self._breaker: BreakerPolicy = delivery_policy(settings).breaker
        self.channels = sorted(known_channels(settings))

    async def tallies(self, since_us: int) -> Sequence[Tally]:
        return await self._record.tallies(self.channels, since_us)

    async def trouble(self) -> Trouble:
        return await self._record.trouble()

    async def circuits(self, now_us: int) -> Mapping[str, Circuit]:
        known = await self._circuits.load()
        return {name: as_of(circuit, self._breaker, now_us) for name, circuit in known.items()}

    async def depth(self) -> Depth:
        return await self._figures.depth(None)

    async def latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        return (await self._deliveries.search(DeliveryQuery(page=Page(limit=limit))))[:limit]


class HouseholdWaiting:
    def __init__(self, settings: Settings, database: Database, notes: Notes) -> None:
        self._record = StoredOverview(database)
        self._notes = notes
        self._approvals_on = settings.approvals_on

    async def approvals(self, now_us: int) -> int | None:
        return await self._record.awaiting_approval(now_us) if self._approvals_on else None

    async def unread(self, who: Principal, now_us: int) -> int:
        user_id = inbox_of(who)
        return 0 if user_id is None else await self._notes.unread(user_id, now_us)


class HouseholdPulse:
    def __init__(self, record: StoredOverview, notes: Notes, questions: QuestionFigures) -> None:
        self._record = record
        self._notes = notes
        self._questions = questions

    async def look(self, user_ids: Collection[str], now_us: int) -> Mapping[str, tuple[Any, ...]]:
        inboxes = await self._notes.pulses(user_ids, now_us - _OVERLAP_US, now_us)
        quiet: dict[str, tuple[Any, ...]] = {f"inbox:{user_id}": () for user_id in user_ids}
        quiet |= {"questions": await self._questions.pulse()}
        return await self._record.pulse() | quiet | {f"inbox:{name}": pulse for name, pulse in inboxes.items()}


class HouseholdDeliveries:
    def __init__(self, settings: Settings, database: Database) -> None:
        retry = delivery_policy(settings).retry
        self.attempts_by_priority = {one: retry.attempts_for(one) for one in Priority}
        self.channels = sorted(known_channels(settings))
        self._database = database

    async def find(self, query: DeliveryQuery, words: str | None) -> Found:
        return await self._database.read(partial(lookup, query=query, words=words))

    async def identified(self, identifier: str) -> str | None:
        return await self._database.read(partial(identified, identifier=identifier))

    async def file(self, delivery_id: str) -> Mapping[str, Any] | None:
        return await self._database.read(partial(delivery_file, delivery_id=delivery_id))


class HouseholdDeadLetters:
    def __init__(self, settings: Settings, database: Database) -> None:
        self.channels = sorted(known_channels(settings))
        self._record = StoredDeadLetters(database)

    async def letters(self, query: DeadLetterQuery) -> Sequence[DeadLetter]:
        return await self._record.letters(query)

    async def letter(self, dead_letter_id: DeadLetterId) -> tuple[DeadLetter, dict[str, Any]] | None:
        return await self._record.letter(dead_letter_id)


class HouseholdHealth(HouseholdOverview):
    def __init__(self, settings: Settings, database: Database) -> None:
        super().__init__(settings, database)
        self._database = database

    async def series(self, edges_us: Sequence[int], most: int) -> Sequence[Slice]:
        return await self._database.read(partial(series, edges_us=edges_us, most=most))
