"""An agent's stream shows every event once and in one order, whoever writes meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete
from tests.opened_database import KINDS, opened_database, opened_file
from tests.patience import PATIENCE_SECONDS
from tests.support.intent_hosts import ANN, BOB, CLEO, MINUTE, NOW, Held, Host, Reader
from tests.support.query_plans import query_plans

from postroom.intents.model import AgentIntent, IntentChange, IntentEventType, Step, StepKind
from postroom.intents.moves import noted
from postroom.intents.store import intents
from postroom.intents.threads import StoredInbox
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.values.ids import first_id_at

WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def database(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(kind, tmp_path, request) as opened_one:
        yield opened_one


@pytest.fixture
async def beside(
    database: Database, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Database]:
    """The same database as another process has it."""
    async with opened_database(kind, tmp_path, request) as opened_one:
        yield opened_one


async def written(database: Database, agent: str = ANN) -> list[str]:
    return [event.id for event in await StoredInbox(database).changes(agent, after=None, limit=10_000)]


async def arrived(database: Database, agent: str, after: str | None) -> list[str]:
    return [one.id for _, one in await StoredInbox(database).arrived(agent, after=after, limit=10)]


async def before_its_events_are_written(held: Held, host: Host, intent: AgentIntent) -> None:
    def decide(found: AgentIntent) -> IntentChange:
        change = noted(found, IntentEventType.REMINDER, host.moment())
        held.pause()
        return change

    await host.store.update(intent.id, decide)


async def before_the_commit(held: Held, host: Host, intent: AgentIntent) -> None:
    await replace(host, database=held).remind(intent)


Slow = Callable[[Held, Host, AgentIntent], Awaitable[None]]


@pytest.mark.parametrize("slowly", [before_its_events_are_written, before_the_commit])
async def test_an_event_committed_after_a_later_one_was_read_is_not_missed(slowly: Slow, postgres_url: str) -> None:
    async with several_hosts(postgres_url, 2) as (slow, quick), watching(postgres_url) as watch:
        first, second = await slow.ask(), await quick.ask()
        reader = Reader(StoredInbox(quick.database))
        await reader.read_all()
        quick.clock_us = slow.clock_us + MINUTE  # whatever it writes has the higher id
        held = Held(slow.database)

        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(slowly(held, slow, first))
            await held.reached.wait()
            quicker = tasks.create_task(quick.remind(second))
            while not quicker.done() and not await watch.fetchval(WAITING):
                """Until it has committed, or has to wait for the one before."""
            await reader.read_all()
            held.go_on.set()
        await reader.read_all()

        assert len(reader.seen) == 6
        assert reader.seen == await written(quick.database)


@asynccontextmanager
async def several_hosts(url: str, count: int) -> AsyncIterator[list[Host]]:
    databases = [PostgresDatabase(url) for _ in range(count)]
    try:
        yield [Host(database) for database in databases]
    finally:
        for database in databases:
            await database.close()


@asynccontextmanager
async def watching(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


STEPS = st.lists(st.sampled_from(["a new one", "the same one", "read"]) | st.integers(-MINUTE, MINUTE), max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_whatever_the_clocks_say_a_reader_sees_every_event_once_and_in_one_order(
    database: Database, steps: list[str | int]
) -> None:
    """A number sets the clock, as if the next to write were another host."""
    agent = f"agent://x/{uuid4()}"
    host, reader = Host(database), Reader(StoredInbox(database), agent)
    intent, count = await host.ask(agent), 2
    for step in steps:
        match step:
            case "a new one":
                intent, count = await host.ask(agent), count + 2
            case "the same one":
                await host.remind(intent)
                count += 1
            case "read":
                await reader.read()
            case _:
                host = Host(database, clock_us=NOW + int(step))
    await reader.read_all()

    assert len(set(reader.seen)) == count
    assert reader.seen == await written(database, agent)


async def test_whoever_writes_at_once_a_reader_sees_every_event_once_and_in_one_order(
    database: Database, beside: Database
) -> None:
    hosts = [Host(one, clock_us=NOW + late) for one in (database, beside) for late in (0, MINUTE)]
    reader = Reader(StoredInbox(database))

    async def write(host: Host) -> None:
        await host.remind(await host.ask())

    async with asyncio.timeout(60):
        for _ in range(5):
            writing = asyncio.gather(*(write(host) for host in hosts for _ in range(2)))
            while not writing.done():
                await reader.read()
            await writing
            await reader.read_all()

    assert len(set(reader.seen)) == 5 * 8 * 3
    assert reader.seen == await written(database)


async def test_events_of_one_change_stay_together_and_in_their_order(database: Database) -> None:
    early, late = Host(database), Host(database, clock_us=NOW + MINUTE)
    made = [await late.ask(), await early.ask()]

    found = await StoredInbox(database).changes(ANN, after=None, limit=10)

    assert [(event.intent_id, event.seq) for event in found] == [(one.id, seq) for one in made for seq in (1, 2)]


async def test_a_cursor_that_was_removed_goes_on_with_what_is_younger(database: Database) -> None:
    host = Host(database)
    old, young = await host.ask(), None
    *_, cursor = await written(database)
    young = await host.ask()
    await database.write(lambda connection: connection.execute(delete(intents).where(intents.c.id == old.id)))

    found = await StoredInbox(database).changes(ANN, after=cursor, limit=10)

    assert [event.intent_id for event in found] == [young.id, young.id]


@pytest.mark.parametrize(
    ("cursor", "shown"),
    [
        pytest.param(str(UUID(int=0)), 6, id="before everything"),
        pytest.param(first_id_at(NOW + MINUTE), 4, id="in between, by the time it tells"),
        pytest.param(first_id_at(NOW + 2 * MINUTE), 0, id="after everything"),
        pytest.param(str(UUID(int=2**128 - 1)), 0, id="no time at all"),
    ],
)
async def test_after_a_cursor_nobody_was_given_comes_what_is_younger(
    database: Database, cursor: str, shown: int
) -> None:
    early, late = Host(database), Host(database, clock_us=NOW + MINUTE)
    await early.ask()
    for _ in range(2):
        await late.ask()

    found = await StoredInbox(database).changes(ANN, after=cursor, limit=10)

    assert [event.id for event in found] == (await written(database))[6 - shown :]


async def test_an_unknown_cursor_hides_nothing_that_is_younger_and_was_written_before(database: Database) -> None:
    early, late = Host(database), Host(database, clock_us=NOW + MINUTE)
    await late.ask()
    await early.ask()
    await late.ask()

    found = await StoredInbox(database).changes(ANN, after=first_id_at(NOW + MINUTE), limit=10)

    assert [event.id for event in found] == await written(database)


async def test_others_cursors_and_events_say_nothing_about_ones_own(database: Database) -> None:
    host = Host(database)
    await host.ask(ANN)
    await host.ask(CLEO)
    of_cleo = (await written(database, CLEO))[-1]
    await host.ask(ANN)

    assert len(await StoredInbox(database).changes(ANN, after=of_cleo, limit=10)) == 2
    assert await StoredInbox(database).changes("agent://x/stranger", after=None, limit=10) == []


async def test_what_is_handed_over_later_arrives_later(database: Database) -> None:
    host = Host(database)
    old, seen = await host.ask(ANN), await host.ask(CLEO)
    assert await arrived(database, CLEO, None) == [seen.id]

    await host.delegate(old, CLEO)
    newest = await host.ask(CLEO)

    assert await arrived(database, CLEO, seen.id) == [old.id, newest.id]
    assert await arrived(database, CLEO, old.id) == [newest.id]
    assert await arrived(database, CLEO, None) == [seen.id, old.id, newest.id]
    assert await arrived(database, ANN, None) == [old.id], "for whoever had it before it is where it was"


async def test_what_is_handed_back_does_not_arrive_twice(database: Database) -> None:
    host = Host(database)
    intent = await host.ask(ANN)
    await host.delegate(intent, CLEO)
    await host.delegate(intent, ANN)

    assert await arrived(database, ANN, None) == [intent.id]
    assert await arrived(database, ANN, intent.id) == []


async def test_whatever_the_clocks_say_intents_arrive_as_they_are_committed(database: Database) -> None:
    early, late = Host(database), Host(database, clock_us=NOW + MINUTE)
    first = await late.ask()
    assert await arrived(database, ANN, None) == [first.id]

    second = await early.ask()

    assert await arrived(database, ANN, first.id) == [second.id]
    assert await arrived(database, ANN, None) == [first.id, second.id]


@pytest.mark.parametrize("own_id", ["f47ac10b-58cc-4372-a567-0e02b2c3d479", None], ids=["of the sender's own", "ours"])
async def test_after_an_intent_that_was_removed_all_that_is_unanswered_arrives(
    database: Database, own_id: str | None
) -> None:
    """Nobody knows any more where it stood, and a question shown twice is better than one never shown."""
    host = Host(database)
    waiting = await host.ask()
    gone = await host.ask(**({"id": own_id} if own_id else {}))
    await database.write(lambda connection: connection.execute(delete(intents).where(intents.c.id == gone.id)))
    new = await host.ask()

    assert await arrived(database, ANN, gone.id) == [waiting.id, new.id]


async def test_all_who_are_asked_at_once_find_it_at_once(database: Database) -> None:
    host = Host(database)
    plan = tuple(Step(StepKind.ASK, NOW, one) for one in (ANN, CLEO))

    intent = await host.ask(ANN, plan=plan)

    assert await arrived(database, CLEO, None) == [intent.id]
    assert len(await written(database, CLEO)) == 2


async def test_a_stream_is_read_by_its_index(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        host = Host(database)
        intent = await host.ask()
        with query_plans(database) as steps:
            await arrived(database, ANN, intent.id)
            await StoredInbox(database).changes(BOB, after=intent.id, limit=5)

    assert not [step for step in steps if step.startswith("SCAN")], steps
    assert any("ix_intent_members_agent_position (agent=? AND position>?)" in step for step in steps), steps
