"""What the console's pages read of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from postroom.domain.breaker import BreakerPolicy, Circuit, as_of
from postroom.domain.closed_address import ClosedAddress
from postroom.domain.dead_letter import DeadLetter
from postroom.domain.delivery import Priority
from postroom.domain.enquiry import DeadLetterQuery, DeliveryQuery, RowPage
from postroom.domain.figures import Depth
from postroom.domain.ids import DeadLetterId
from postroom.domain.inbound_trouble import InboundTrouble
from postroom.domain.living_worker import LivingWorker
from postroom.domain.overview import DeadLetterCounts, Slice, Tally, Took
from postroom.world.store.conversations.troubles import StoredTroubles
from postroom.world.store.deliveries.dead_letters import StoredDeadLetters
from postroom.world.store.deliveries.health_series import arrivals, decided, series
from postroom.world.store.deliveries.letter_lookup import FoundLetters, find_letters
from postroom.world.store.deliveries.lookup import FoundDeliveries, identified, lookup
from postroom.world.store.deliveries.overview import StoredOverview
from postroom.world.store.deliveries.search import StoredDeliveries
from postroom.world.store.deliveries.statistics import StoredFigures
from postroom.world.store.deliveries.story import delivery_file
from postroom.world.store.engine.database import Database
from postroom.world.store.people.closed_addresses import StoredClosedAddresses
from postroom.world.store.shared.circuits import StoredCircuits
from postroom.world.store.shared.workers import living


class ConsoleOverview:
    """The first page, read from the ledger and from nothing else."""

    def __init__(self, database: Database, channels: Sequence[str], breaker: BreakerPolicy) -> None:
        self._record = StoredOverview(database)
        self._circuits = StoredCircuits(database)
        self._figures = StoredFigures(database)
        self._deliveries = StoredDeliveries(database)
        self._breaker = breaker
        self.channels = channels

    async def tallies(self, since_us: int) -> Sequence[Tally]:
        return await self._record.tallies(self.channels, since_us)

    async def trouble(self) -> DeadLetterCounts:
        return await self._record.trouble()

    async def circuits(self, now_us: int) -> Mapping[str, Circuit]:
        known = await self._circuits.load()
        return {name: as_of(circuit, self._breaker, now_us) for name, circuit in known.items()}

    async def depth(self) -> Depth:
        return await self._figures.depth(None)

    async def latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        return (await self._deliveries.search(DeliveryQuery(page=RowPage(limit=limit))))[:limit]


class ConsoleDeliveries:
    def __init__(
        self, database: Database, channels: Sequence[str], attempts_by_priority: Mapping[Priority, int]
    ) -> None:
        self.attempts_by_priority = attempts_by_priority
        self.channels = channels
        self._database = database

    async def find(self, query: DeliveryQuery, words: str | None, places: Sequence[str] = ()) -> FoundDeliveries:
        return await self._database.read(partial(lookup, query=query, words=words, places=places))

    async def identified(self, identifier: str) -> str | None:
        return await self._database.read(partial(identified, identifier=identifier))

    async def file(self, delivery_id: str) -> Mapping[str, Any] | None:
        return await self._database.read(partial(delivery_file, delivery_id=delivery_id))


class ConsoleDeadLetters:
    def __init__(self, database: Database, channels: Sequence[str]) -> None:
        self.channels = channels
        self._database = database
        self._record = StoredDeadLetters(database)

    async def find(self, query: DeadLetterQuery, words: str | None, places: Sequence[str]) -> FoundLetters:
        return await self._database.read(partial(find_letters, query=query, words=words, places=places))

    async def letter(self, dead_letter_id: DeadLetterId) -> tuple[DeadLetter, dict[str, Any]] | None:
        return await self._record.letter(dead_letter_id)


class ConsoleHealth(ConsoleOverview):
    def __init__(self, database: Database, channels: Sequence[str], breaker: BreakerPolicy) -> None:
        super().__init__(database, channels, breaker)
        self._database = database

    async def hearing(self) -> Sequence[InboundTrouble]:
        return await StoredTroubles(self._database).listed()

    async def closed(self, most: int) -> Sequence[ClosedAddress]:
        return await StoredClosedAddresses(self._database).newest(most)

    async def workers(self, now_us: int) -> Sequence[LivingWorker]:
        return await self._database.read(partial(living, now_us=now_us))

    async def series(self, edges_us: Sequence[int], most: int) -> Sequence[Slice]:
        return await self._database.read(partial(series, edges_us=edges_us, most=most))

    async def arrivals(self, since_us: int, until_us: int) -> Sequence[Took]:
        """Of one stretch, the newest."""
        return await self._database.read(partial(arrivals, since_us=since_us, until_us=until_us))

    async def decided(self, since_us: int) -> Sequence[float]:
        return await self._database.read(partial(decided, since_us=since_us))
