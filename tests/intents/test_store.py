from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import await_only
from tests.intents.office import delivered
from tests.support.intent_hosts import Host, an_intent

from postroom.intents.model import AgentIntent, IntentChange, IntentStatus, MoveContext, moved, opened
from postroom.intents.store import StoredIntents, intent_events, intents
from postroom.kernel.database.engine import PATIENCE_SECONDS, Database, wait_for_turn
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.values.errors import Code, Refused, StoreUnavailable
from postroom.kernel.values.ids import IdMint

MINT = IdMint()


def made(**more: Any) -> IntentChange:
    values: dict[str, Any] = {
        "from_agent": "agent://a",
        "to_agent": "agent://b",
        "payload": {"question": "Grüße, 李明?"},
        "metadata": {"input_mode": "text"},
        "next_at_us": 5,
        **more,
    }
    return opened(an_intent(1, MINT, **values), MoveContext(1, "agent://a", MINT.mint))


async def test_an_intent_is_read_as_it_was_written(database: Database) -> None:
    store, change = StoredIntents(database, MINT.mint), made()

    assert await store.insert(change) == (change.intent, True)

    assert await store.get(change.intent.id) == change.intent
    assert list(await store.events(change.intent.id, since=0, limit=9)) == list(change.events)


async def test_one_key_of_one_sender_is_one_intent(database: Database) -> None:
    store = StoredIntents(database, MINT.mint)
    first, _ = await store.insert(made(idempotency_key="k"))

    assert await store.insert(made(idempotency_key="k")) == (first, False)
    assert (await store.insert(made(idempotency_key="k", from_agent="agent://c")))[1]


async def test_the_database_itself_refuses_to_reopen_an_intent(database: Database) -> None:
    store = StoredIntents(database, MINT.mint)
    intent, _ = await store.insert(made())
    moment = MoveContext(2, "agent://b", MINT.mint)
    await store.update(intent.id, lambda found: moved(found, IntentStatus.COMPLETED, moment))

    def reopen(found: AgentIntent) -> IntentChange:
        return IntentChange(intent=replace(found, status=IntentStatus.SUBMITTED), events=())

    with pytest.raises(DBAPIError):
        await store.update(intent.id, reopen)


async def test_a_change_that_is_refused_leaves_nothing_behind(database: Database) -> None:
    store = StoredIntents(database, MINT.mint)
    intent, _ = await store.insert(made())

    def refuse(found: AgentIntent) -> IntentChange:
        raise Refused(Code.POLICY_DENIED, "no")

    with pytest.raises(Refused):
        await store.update(intent.id, refuse)
    assert await store.get(intent.id) == intent
    with pytest.raises(Refused):
        await store.update("missing", refuse)


async def test_a_message_leads_back_to_its_intent_only_from_its_own_chat(database: Database) -> None:
    store = StoredIntents(database, MINT.mint)
    await delivered(database, "intent-1", "2001", "77")
    await delivered(database, "r2", "2001", "77", origin="health")

    assert await store.behind("telegram", "2001", "77") == "intent-1"
    for asked in (("telegram", "9999", "77"), ("telegram", "2001", "78"), ("email", "2001", "77")):
        assert await store.behind(*asked) is None
    assert list(await store.deliveries("intent-1")) == [("delivered", None)]


async def test_half_characters_in_what_somebody_sent_are_kept_apart_from_the_text(database: Database) -> None:
    store = StoredIntents(database, MINT.mint)
    intent, _ = await store.insert(made(payload={"question": "\x00"}))

    rows = await database.read(lambda connection: connection.execute(select(intents.c.payload)).scalars().all())

    assert rows == ['{"question": "\\u0000"}']
    assert (await store.get(intent.id)) == intent


# Places in the order of commits: one writer at a time, and nobody waits for one that was stopped.


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    one = PostgresDatabase(postgres_url)
    try:
        yield one
    finally:
        await one.close()


async def test_places_have_no_gap_however_many_write_at_once_and_however_many_fail(postgres: PostgresDatabase) -> None:
    host = Host(postgres)

    def broken(connection: Connection) -> None:
        wait_for_turn(connection)
        raise LookupError

    async def fail() -> None:
        with pytest.raises(LookupError):
            await postgres.write(broken)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(host.ask() for _ in range(20)), *(fail() for _ in range(5)))

    asked = select(intent_events.c.position).order_by(intent_events.c.position)
    assert await postgres.read(lambda connection: connection.execute(asked).scalars().all()) == list(range(1, 41))


async def test_a_process_that_stops_with_the_order_in_hand_keeps_it_only_for_a_while(
    postgres: PostgresDatabase,
) -> None:
    reached, others_are_done = asyncio.Event(), asyncio.Event()

    def stop_in_between(connection: Connection) -> None:
        wait_for_turn(connection, patience_seconds=0.2)
        reached.set()
        await_only(others_are_done.wait())
        wait_for_turn(connection)

    async with asyncio.timeout(PATIENCE_SECONDS):
        stopped = asyncio.create_task(postgres.write(stop_in_between))
        await reached.wait()
        await Host(postgres).ask()
        others_are_done.set()
        with pytest.raises(StoreUnavailable):
            await stopped


async def test_patience_ends_with_the_transaction(postgres: PostgresDatabase) -> None:
    shown = text("SHOW idle_in_transaction_session_timeout")

    def during(connection: Connection) -> str:
        wait_for_turn(connection)
        return str(connection.execute(shown).scalar_one())

    assert await postgres.write(during) == f"{PATIENCE_SECONDS:.0f}s"
    assert await postgres.write(lambda connection: connection.execute(shown).scalar_one()) == "0"
