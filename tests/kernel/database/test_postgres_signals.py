"""LISTEN/NOTIFY: what one process settles or leaves pending, another hears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.attention.attended import names
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops
from tests.support.sample_deliveries import LEASE, ending, new_delivery

from postroom.attention import store
from postroom.attention.attention import Attention
from postroom.attention.model import Policy
from postroom.attention.store import StoredNotices
from postroom.attention.turn import NoticeBook
from postroom.delivery.store.postgres import PostgresLedger
from postroom.kernel.database.engine import QuestionNotices
from postroom.kernel.database.postgres import PostgresDatabase, listening
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryEvent


@dataclass(slots=True)
class Ear:
    pending: asyncio.Queue[None] = field(default_factory=asyncio.Queue)
    settled: asyncio.Queue[list[DeliveryId] | None] = field(default_factory=asyncio.Queue)

    def on_pending(self) -> None:
        self.pending.put_nowait(None)

    async def on_settled(self, ids: list[DeliveryId] | None) -> None:
        self.settled.put_nowait(ids)

    async def heard(self) -> list[DeliveryId] | None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.settled.get()

    async def woken(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.pending.get()


@pytest.fixture
async def databases(postgres_url: str) -> AsyncIterator[tuple[PostgresDatabase, PostgresDatabase]]:
    here, there = PostgresDatabase(postgres_url), PostgresDatabase(postgres_url)
    await here.migrate()
    yield here, there
    await here.close()
    await there.close()


async def test_another_process_hears_of_what_ended_and_of_what_waits_and_of_nothing_else(
    databases: tuple[PostgresDatabase, PostgresDatabase],
) -> None:
    here, there = databases
    ledger, ear = PostgresLedger(here), Ear()
    async with listening(there, QuestionNotices(), ear.on_pending, ear.on_settled, CountedLoops()):
        assert await ear.heard() is None  # something may have happened before we listened
        await ear.woken()
        claims = [(await ledger.insert(new_delivery(), LEASE)).claim for _ in range(2)]
        assert claims[0] is not None and claims[1] is not None

        await ledger.settle(ending(claims[0], DeliveryEvent.RETRY))  # which has not ended
        await ledger.settle(ending(claims[1], DeliveryEvent.REJECT))
        assert await ear.heard() == [claims[1].id]

        await ledger.insert(new_delivery(), None)
        await ear.woken()
        assert ear.settled.empty()


@pytest.mark.requirement("attention:heard-elsewhere")
async def test_a_policy_that_another_process_sets_rings_here_and_our_own_does_not(
    databases: tuple[PostgresDatabase, PostgresDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = databases
    ear, rung = Ear(), Signal()
    book = NoticeBook(store=StoredNotices(here), people=names(here), clock=FakeClock())
    async with listening(there, QuestionNotices(), ear.on_pending, ear.on_settled, CountedLoops(), attention=rung):
        await ear.heard()
        own = rung.news()
        await Attention(book=book).set_policy("owner", Policy())
        await PostgresLedger(here).insert(new_delivery(), None)  # what came before it has been heard as well
        await ear.woken()
        await ear.woken()
        assert not own.is_set()
        monkeypatch.setattr(store, "THIS_PROCESS", "another")
        await Attention(book=book).set_policy("owner", None)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await own.wait()


async def test_a_large_batch_is_announced_whole(databases: tuple[PostgresDatabase, PostgresDatabase]) -> None:
    here, there = databases
    ledger, ear = PostgresLedger(here), Ear()
    inserted = await asyncio.gather(*(ledger.insert(new_delivery(), LEASE) for _ in range(450)))
    claims = [one.claim for one in inserted if one.claim]
    async with listening(there, QuestionNotices(), ear.on_pending, ear.on_settled, CountedLoops()):
        await ear.heard()

        await asyncio.gather(*(ledger.settle(ending(claim, DeliveryEvent.DELIVER)) for claim in claims))

        heard: set[str] = set()
        while len(heard) < 450:
            heard |= set(await ear.heard() or [])
        assert heard == {claim.id for claim in claims}


async def test_a_lost_connection_is_replaced_and_what_was_missed_is_looked_up(
    databases: tuple[PostgresDatabase, PostgresDatabase], postgres_url: str
) -> None:
    here, there = databases
    ledger, ear = PostgresLedger(here), Ear()
    async with listening(there, QuestionNotices(), ear.on_pending, ear.on_settled, CountedLoops()):
        assert await ear.heard() is None
        await _end_listeners(postgres_url)

        assert await ear.heard() is None  # connected again: look at everything you wait for
        inserted = await ledger.insert(new_delivery(), LEASE)
        assert inserted.claim is not None
        await ledger.settle(ending(inserted.claim, DeliveryEvent.DELIVER))
        assert await ear.heard() == [inserted.claim.id]


@pytest.mark.parametrize("failure", [OSError("gone"), KeyError("a mistake of ours")], ids=["outage", "bug"])
async def test_an_ear_that_fails_once_is_not_deaf_for_ever(
    databases: tuple[PostgresDatabase, PostgresDatabase], failure: Exception
) -> None:
    here, there = databases
    ledger, ear, failures = PostgresLedger(here), Ear(), [failure]

    async def settled(ids: list[DeliveryId] | None) -> None:
        if failures:
            raise failures.pop()
        await ear.on_settled(ids)

    async with listening(there, QuestionNotices(), ear.on_pending, settled, CountedLoops()):
        assert await ear.heard() is None
        claim = (await ledger.insert(new_delivery(), LEASE)).claim
        assert claim is not None
        await ledger.settle(ending(claim, DeliveryEvent.DELIVER))
        assert await ear.heard() == [claim.id]


async def test_one_who_is_turned_away_for_a_while_listens_afterwards(
    databases: tuple[PostgresDatabase, PostgresDatabase], new_postgres_url: str
) -> None:
    here, ear = databases[0], Ear()
    owner = await asyncpg.connect(new_postgres_url)
    await owner.execute("create role listener nologin")
    refused = PostgresDatabase(urlsplit(new_postgres_url)._replace(netloc=_as_listener(new_postgres_url)).geturl())
    try:
        with pytest.raises(StoreUnavailable):
            await refused.hot(lambda connection: connection.fetchval("select 1"))
        with pytest.raises(StoreUnavailable):
            await refused.read(lambda connection: connection.info)
        async with listening(refused, QuestionNotices(), ear.on_pending, ear.on_settled, CountedLoops()):
            await asyncio.sleep(0)
            await owner.execute("alter role listener login")
            assert await ear.heard() is None
            await PostgresLedger(here).insert(new_delivery(), None)
            await ear.woken()
    finally:
        await refused.close()
        await owner.execute("drop role listener")
        await owner.close()


def _as_listener(url: str) -> str:
    parts = urlsplit(url)
    return f"listener@{parts.hostname}:{parts.port}"


async def _end_listeners(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        ended = await connection.fetchval(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity "
            "where datname = current_database() and query ilike 'listen%'"
        )
        assert ended == 1
    finally:
        await connection.close()
