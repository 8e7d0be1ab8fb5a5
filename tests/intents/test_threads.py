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
from tests.intents.office import Office
from tests.opened_database import KINDS, opened_database, opened_file
from tests.patience import PATIENCE_SECONDS
from tests.support.intent_hosts import ANN, BOB, CLEO, MINUTE, NOW, Held, Host, Reader
from tests.support.query_plans import query_plans

from postroom.intents.bodies import InboxAnswer
from postroom.intents.directory import Acting
from postroom.intents.model import (
    MAX_STEPS,
    AgentIntent,
    IntentChange,
    IntentEnding,
    IntentEventType,
    IntentStatus,
    noted,
)
from postroom.intents.store import intents
from postroom.intents.threads import StoredInbox
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.ids import first_id_at
from postroom.kernel.values.principal import HOUSEHOLD_OWNER

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


async def test_a_stream_is_read_by_its_index(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        host = Host(database)
        intent = await host.ask()
        with query_plans(database) as steps:
            await arrived(database, ANN, intent.id)
            await StoredInbox(database).changes(BOB, after=intent.id, limit=5)

    assert not [step for step in steps if step.startswith("SCAN")], steps
    assert any("ix_intent_members_agent_position (agent=? AND position>?)" in step for step in steps), steps


# What an agent finds in its inbox.

USER_ANN = "agent://user/ann"
AS_ANN = Acting(USER_ANN, by_person=True)
MODEL = Acting(USER_ANN, by_person=False)
EVE = Acting("agent://user/eve", by_person=True)
OPERATOR = Acting(HOUSEHOLD_OWNER, by_person=True, anyone=True)


async def refused(work: Awaitable[object]) -> Code:
    with pytest.raises(Refused) as error:
        await work
    return error.value.code


async def test_an_inbox_shows_both_directions_by_folder(office: Office) -> None:
    received = await office.ask(USER_ANN, "For Ann")
    sent = await office.ask("agent://x/y", "From Ann", sender=USER_ANN)
    done = await office.ask(USER_ANN, "Answered")
    await office.threads.reply(AS_ANN, done.id, "Yes")

    page = await office.threads.page(USER_ANN, None, None, 10)
    ended = await office.threads.page(USER_ANN, "done", None, 10)

    assert [(one.thread_id, one.direction) for one in InboxAnswer.of(page, USER_ANN).threads] == [
        (done.id, "received"),
        (sent.id, "sent"),
        (received.id, "received"),
    ]
    assert [(one.thread_id, one.answer) for one in InboxAnswer.of(ended, USER_ANN).threads] == [(done.id, "Yes")]


async def test_an_inbox_is_read_page_by_page(office: Office) -> None:
    made = [await office.ask(USER_ANN, f"Number {number}") for number in range(5)]

    first = await office.threads.page(USER_ANN, "pending", None, 3)
    rest = await office.threads.page(USER_ANN, "pending", first.next_cursor, 3)

    assert [one.id for one in (*first.threads, *rest.threads)] == [one.id for one in reversed(made)]
    assert rest.next_cursor is None


Act = Callable[[Office, Acting, AgentIntent], Awaitable[object]]
ACTS: dict[str, Act] = {
    "read": lambda office, acting, intent: office.threads.thread(acting, intent.id),
    "reply": lambda office, acting, intent: office.threads.reply(acting, intent.id, "x"),
    "approve": lambda office, acting, intent: office.threads.decide(acting, intent.id, approve=True, comment=""),
    "delegate": lambda office, acting, intent: office.threads.delegate(acting, intent.id, "agent://x/y", ""),
    "resolve": lambda office, acting, intent: office.threads.resolve(
        acting, intent.id, IntentEnding(goal=IntentStatus.COMPLETED)
    ),
    "cancel": lambda office, acting, intent: office.threads.resolve(
        acting, intent.id, IntentEnding(goal=IntentStatus.CANCELED)
    ),
    "resume": lambda office, acting, intent: office.threads.resume(acting, intent.id, None),
}


async def test_a_stranger_does_not_even_learn_that_a_thread_exists(office: Office) -> None:
    intent = await office.ask(USER_ANN)

    for name, act in ACTS.items():
        assert await refused(act(office, EVE, intent)) is Code.INTENT_NOT_FOUND, name


async def test_a_sender_does_not_answer_itself(office: Office) -> None:
    intent = await office.ask("agent://x/y", sender=USER_ANN)

    for name in ("reply", "approve", "delegate", "resolve"):
        assert await refused(ACTS[name](office, AS_ANN, intent)) is Code.POLICY_DENIED, name


async def test_what_has_ended_cannot_change(office: Office) -> None:
    intent = await office.ask(USER_ANN)
    await office.threads.reply(AS_ANN, intent.id, "Yes")

    for name in ("approve", "resolve", "cancel", "delegate"):
        assert await refused(ACTS[name](office, OPERATOR, intent)) is Code.ILLEGAL_TRANSITION, name


@pytest.mark.requirement("drivers:reply-after-the-end")
@pytest.mark.parametrize("who", ["the one that was asked", "the one that asked"])
async def test_a_reply_after_the_end_is_kept_and_changes_nothing_else(office: Office, who: str) -> None:
    intent = await office.ask(USER_ANN, workflow={"macro_id": "macro.approval.v1"}, sender="agent://x/y")
    ended = await office.threads.decide(AS_ANN, intent.id, approve=False, comment="No")
    acting = AS_ANN if who == "the one that was asked" else Acting("agent://x/y", by_person=False)

    after = await office.threads.reply(acting, intent.id, "approve")

    thread = await office.threads.thread(AS_ANN, intent.id)
    assert (after.status, after.result) == (ended.status, ended.result)
    assert [one.message for one in thread.messages] == ["No", "approve"]
    assert (thread.events[-1].event_type, thread.events[-1].actor) == ("intent.message", acting.agent)


async def test_only_a_person_decides_an_approval(office: Office) -> None:
    workflow = {"macro_id": "macro.approval.v1"}
    intent = await office.ask(USER_ANN, "May I?", workflow=workflow)

    for act in ("approve", "reply", "resolve"):
        assert await refused(ACTS[act](office, MODEL, intent)) is Code.POLICY_DENIED
    await office.ask(
        HOUSEHOLD_OWNER, "yes", sender=USER_ANN, intent_type="intent.reply.v1", correlation_id=intent.correlation_id
    )
    assert (await office.now(intent)).is_open

    decided = await office.threads.decide(AS_ANN, intent.id, approve=False, comment="Too dear")

    assert decided.status is IntentStatus.COMPLETED
    assert decided.result is not None
    assert (decided.result["decision"], decided.result["status"], decided.result["answer"]) == (
        "rejected",
        "declined",
        "Too dear",
    )


async def test_an_approval_is_put_to_its_approver_alone(office: Office) -> None:
    workflow = {"macro_id": "macro.approval.v1", "params": {"approver": EVE.agent}}
    intent = await office.ask(USER_ANN, "May I?", workflow=workflow)

    assert await refused(ACTS["approve"](office, AS_ANN, intent)) is Code.POLICY_DENIED
    decided = await office.threads.decide(EVE, intent.id, approve=True, comment="")

    assert decided.result is not None
    assert (decided.result["decision"], decided.result["responded_by"]) == ("approved", EVE.agent)


async def test_an_approval_takes_the_exact_word(office: Office) -> None:
    intent = await office.ask(USER_ANN, "May I?", workflow={"macro_id": "macro.approval.v1"})
    others = ["ok", "👍", "okay", "y", "Yes, but later", "approve?", "approved"]

    for words in others:
        seen = await office.threads.reply(AS_ANN, intent.id, words)
        assert (seen.status, seen.result) == (IntentStatus.IN_PROGRESS, None), words

    thread = await office.threads.thread(AS_ANN, intent.id)
    assert [(one.author, one.message) for one in thread.messages] == [(USER_ANN, words) for words in others]
    done = await office.threads.reply(AS_ANN, intent.id, " Approve ")
    assert done.result is not None and done.result["decision"] == "approved"


async def test_an_approval_is_handed_over_to_people_only(office: Office) -> None:
    intent = await office.ask(USER_ANN, "May I?", workflow={"macro_id": "macro.approval.v1"})

    for agent in ("agent://butler/health", "agent://x/y"):
        assert await refused(office.threads.delegate(AS_ANN, intent.id, agent, "")) is Code.POLICY_DENIED
    assert (await office.threads.delegate(AS_ANN, intent.id, EVE.agent, "")).handler == EVE.agent


async def test_a_thread_handed_over_is_asked_of_the_other(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    intent = await office.ask(USER_ANN, "Late?")
    await office.work()

    await office.threads.delegate(AS_ANN, intent.id, bob.agent_address, "You know this")
    await office.work()

    found = await office.now(intent)
    assert (found.handler, office.post.said) == (bob.agent_address, [("2001", "Late?")])
    assert "transfer" in await office.events(intent)
    answered = await office.threads.reply(Acting(bob.agent_address, by_person=True), intent.id, "Yes")
    assert answered.status is IntentStatus.COMPLETED


async def test_the_sender_may_cancel(office: Office) -> None:
    intent = await office.ask(USER_ANN)
    sender = Acting(HOUSEHOLD_OWNER, by_person=False)

    ending = IntentEnding(goal=IntentStatus.CANCELED, reason="never mind")
    change = await office.threads.resolve(sender, intent.id, ending)

    assert change.intent.status is IntentStatus.CANCELED
    assert await refused(ACTS["cancel"](office, AS_ANN, await office.ask(USER_ANN))) is Code.POLICY_DENIED


async def test_a_waiting_intent_goes_on(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.answers = [{"status": "pending_approval"}]
    intent = await office.ask(bob.agent_address)
    await office.work()

    resumed = await office.threads.resume(OPERATOR, intent.id, None)

    assert resumed.status is IntentStatus.IN_PROGRESS
    assert await refused(ACTS["resume"](office, OPERATOR, intent)) is Code.ILLEGAL_TRANSITION


async def test_changes_are_told_from_where_one_left_off(office: Office) -> None:
    intent = await office.ask(USER_ANN)
    first = await office.threads.changes(USER_ANN, None, 10)
    nothing = await office.threads.changes(USER_ANN, first.next_cursor, 10)
    await office.threads.reply(AS_ANN, intent.id, "Yes")
    more = await office.threads.changes(USER_ANN, first.next_cursor, 1)

    assert [one.event_type for one in first.changes] == ["intent.created", "intent.submitted"]
    assert (nothing.changes, nothing.next_cursor) == ([], first.next_cursor)
    assert ([one.event_type for one in more.changes], more.has_more) == (["intent.in_progress"], True)


async def test_a_question_is_not_handed_on_for_ever(office: Office) -> None:
    intent = await office.ask(USER_ANN, "Whose is this?")
    for _ in range(MAX_STEPS - len(intent.plan)):
        await office.threads.delegate(AS_ANN, intent.id, "agent://x/y", "")

    assert await refused(office.threads.delegate(AS_ANN, intent.id, "agent://x/y", "")) is Code.ILLEGAL_TRANSITION
    assert len((await office.now(intent)).plan) == MAX_STEPS


async def test_what_comes_after_an_intent_with_an_id_of_the_senders_own_is_seen_too(office: Office) -> None:
    """A sender may bring any UUID, and most of them sort after every id that tells the time."""
    first = await office.ask(USER_ANN, "First")
    foreign = await office.ask(USER_ANN, "Second", intent_id="f47ac10b-58cc-4372-a567-0e02b2c3d479")
    early = await office.ask(USER_ANN, "Third", intent_id="00000000-58cc-4372-a567-0e02b2c3d479")
    last = await office.ask(USER_ANN, "Fourth")

    async def after(intent: AgentIntent | None) -> list[str]:
        return [one.id for _, one in await office.threads.inbox.arrived(USER_ANN, after=intent and intent.id, limit=10)]

    assert await after(None) == [first.id, foreign.id, early.id, last.id]
    assert await after(first) == [foreign.id, early.id, last.id]
    assert await after(foreign) == [early.id, last.id]
    assert await after(last) == []


async def test_every_agent_that_is_asked_with_others_finds_it_and_may_answer(office: Office) -> None:
    workflow = {"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": [USER_ANN, "agent://x/y"]}}
    intent = await office.ask(USER_ANN, "Who is in?", workflow=workflow)
    await office.work()

    for agent in (USER_ANN, "agent://x/y"):
        assert [one.id for _, one in await office.threads.inbox.arrived(agent, after=None, limit=10)] == [intent.id]
    answered = await office.threads.reply(Acting("agent://x/y", by_person=False), intent.id, "I am")
    assert answered.status is IntentStatus.COMPLETED
