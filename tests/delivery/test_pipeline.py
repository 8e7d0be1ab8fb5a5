"""One attempt: every kind of ending, on the real ledger, with nothing lost and nothing sent twice unmarked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, generous, living_world
from tests.patience import PATIENCE_SECONDS
from tests.support.deadlock import deadlock
from tests.support.delivery_rows import waits

from postroom.delivery.rules.breaker import BreakerPolicy
from postroom.delivery.store.postgres import PostgresLedger
from postroom.delivery.store.tables import delivery_dead_letter, delivery_receipts, delivery_requests
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    OutOfDescriptors,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.delivery import Status

_DEADLOCK_WHEN_SETTLED = """
    create function settled() returns trigger language plpgsql as $$ begin
        perform meet_deadlock();
        return new;
    end $$;
    create trigger settled before update on messenger.delivery_requests
        for each row when (new.status = 'delivered') execute function settled()
"""
DOWN = TargetUnavailable("the provider answered 503")


async def test_a_message_goes_out_once_and_everything_is_on_record(world: World) -> None:
    await world.send("Hello")

    row = await world.row()
    assert world.telegram.texts == ["Hello"]
    assert (row["status"], row["attempts"], row["calls"], row["provider_delivery_id"]) == ("delivered", 1, 1, "1")
    assert await world.attempts() == [("success", None)]
    assert [receipt["provider_delivery_id"] for receipt in await world.rows(delivery_receipts)] == ["1"]
    assert world.tally.bugs == []


@dataclass(frozen=True, slots=True)
class Case:
    error: PostroomError | Exception
    status: str
    attempts: int
    outcome: str
    error_class: str
    waits: str | None = None
    delay_seconds: float = 0.0
    possible_duplicate: bool = False


CASES = {
    "the message is wrong": Case(
        ValidationError("chat not found"), "failed", 1, "non_retryable_error", "validation_error"
    ),
    "our own fault": Case(InternalError("oops"), "failed", 1, "non_retryable_error", "internal_error"),
    "a bug in the channel": Case(KeyError("secret text"), "failed", 1, "non_retryable_error", "internal_error"),
    "not reachable": Case(
        DOWN,
        "pending",
        1,
        "retryable_error",
        "target_unavailable",
        "retry after target_unavailable: the provider answered 503",
        1.0,
    ),
    "not reachable, and it says for how long": Case(
        TargetUnavailable("maintenance", retry_after_seconds=40),
        "pending",
        1,
        "retryable_error",
        "target_unavailable",
        "retry after target_unavailable: maintenance",
        40.0,
    ),
    "nothing left in time": Case(
        DeliveryTimeout("no connection"),
        "pending",
        1,
        "retryable_error",
        "timeout",
        "retry after timeout: no connection",
        1.0,
    ),
    "throttled": Case(
        ProviderThrottled("429", retry_after_seconds=7),
        "pending",
        0,
        "retryable_error",
        "target_unavailable",
        "throttled by the provider: 429",
        7.0,
    ),
    "throttled without a time": Case(
        ProviderThrottled("429"),
        "pending",
        0,
        "retryable_error",
        "target_unavailable",
        "throttled by the provider: 429",
        1.0,
    ),
    "no answer": Case(
        OutcomeUncertain("no answer"),
        "pending",
        1,
        "uncertain",
        "timeout",
        "retry after timeout: no answer",
        1.0,
        possible_duplicate=True,
    ),
    "a channel that forgets its own deadline": Case(
        TimeoutError(),
        "pending",
        1,
        "uncertain",
        "timeout",
        "retry after timeout: telegram did not answer in time",
        1.0,
        possible_duplicate=True,
    ),
}


@pytest.mark.requirement("messenger:non-retryable-errors", "messenger:retry-policy")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_every_kind_of_error_has_its_own_consequence(world: World, case: Case) -> None:
    world.telegram.script.append(case.error)
    sent_at = world.clock.now_us()

    await world.send()

    row = await world.row()
    assert (row["status"], row["attempts"], row["calls"]) == (case.status, case.attempts, 1)
    assert await world.attempts() == [(case.outcome, case.error_class)]
    assert waits(row) == case.waits
    assert bool(row["possible_duplicate"]) is case.possible_duplicate
    assert row["sending"] == 0
    if case.status == "failed":
        assert row["terminal_error_class"] == case.error_class
        assert "secret text" not in str(row["terminal_error_message"])
    else:
        assert row["not_before"] - sent_at == case.delay_seconds * 1_000_000
        await world.advance(case.delay_seconds)
        assert (await world.row())["status"] == "delivered"
        assert bool((await world.row())["possible_duplicate"]) is case.possible_duplicate


@pytest.mark.requirement("messenger:retry-with-exponential-backoff", "messenger:retry-policy")
async def test_retries_double_their_distance_and_end_in_the_dead_letters(world: World) -> None:
    world.telegram.always = DOWN

    await world.send()
    await world.advance(60)

    gaps = [
        later.at_us - earlier.at_us
        for earlier, later in zip(world.telegram.calls, world.telegram.calls[1:], strict=False)
    ]
    assert gaps == [1_000_000, 2_000_000]
    row = await world.row()
    assert (row["status"], row["attempts"]) == ("dead_lettered", 3)
    [letter] = await world.rows(delivery_dead_letter)
    assert (letter["quarantine_reason"], letter["total_attempts"]) == ("retries_exhausted", 3)


@pytest.mark.requirement("messenger:per-channel-timeouts")
async def test_each_channel_gets_its_own_deadline(world: World) -> None:
    await world.send()
    await world.send(channel="email", recipient="ann@example.com", subject="S")

    assert world.telegram.calls[0].timeout_seconds == 15.0
    assert world.email.calls[0].timeout_seconds == 45.0


async def test_while_we_have_no_descriptor_left_a_delivery_loses_nothing(world: World) -> None:
    world.telegram.script.extend(OutOfDescriptors() for _ in range(6))

    await world.send()
    waiting = await world.row()
    await world.advance(6)

    row = await world.row()
    assert (waiting["status"], waiting["attempts"], row["status"], row["attempts"]) == ("pending", 0, "delivered", 1)
    assert waits(waiting) == "this machine has no file descriptor left; nothing was sent"
    assert len(await world.attempts()) == 1 and not row["possible_duplicate"]


@pytest.mark.requirement("messenger:provider-throttle-passthrough")
async def test_a_throttle_silences_the_channel_for_everybody(world: World) -> None:
    world.telegram.script.append(ProviderThrottled("429", retry_after_seconds=10))
    await world.send("first", recipient="1")

    refused = await world.send("second", recipient="2")
    mail = await world.send("third", channel="email", recipient="ann@example.com")

    assert refused["status"] == "error"
    assert refused["error_class"] == "target_unavailable"
    assert refused["error"]["retry_after_seconds"] == 10.0
    assert mail["delivery"]["status"] == "in_progress"
    assert len(world.telegram.calls) == 1
    await world.advance(10)
    assert world.telegram.texts == ["first", "first"]
    assert (await world.send("fourth", recipient="2", wait_seconds=0))["status"] == "accepted"


async def test_a_message_that_a_channel_chokes_on_fails_instead_of_coming_back_for_ever(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    sending = world.start_sending("first")
    await world.telegram.called(1)
    await world.send("second", wait_seconds=0)  # waits behind the first
    world.telegram.unpreparable = RuntimeError("secret text")
    gate.set()
    await sending
    await world.idle()

    [_, second] = await world.rows()
    assert (second["status"], second["terminal_error_class"]) == ("failed", "internal_error")
    assert "secret text" not in second["terminal_error_message"]
    assert len(world.tally.bugs) == 1


async def test_a_bug_in_a_channel_is_reported_by_name_only(world: World) -> None:
    world.telegram.script.append(KeyError("secret text"))

    answer = await world.send(wait_seconds=5)

    assert answer["error"]["message"] == "the telegram channel failed (KeyError)"
    assert [type(bug) for bug in world.tally.bugs] == [KeyError]


# -- several parts ---------------------------------------------------------------------------------------------


async def test_parts_leave_in_order_and_each_has_a_receipt(world: World) -> None:
    await world.send("one|two|three")

    assert world.telegram.texts == ["one", "two", "three"]
    receipts = [(row["part"], row["provider_delivery_id"]) for row in await world.rows(delivery_receipts)]
    assert receipts == [(1, "1"), (2, "2"), (3, "3")]
    assert (await world.row())["provider_delivery_id"] == "3"


async def test_a_failure_in_the_second_part_never_repeats_the_first(world: World) -> None:
    opened = asyncio.Event()
    opened.set()
    world.telegram.script.extend([opened, DOWN, DOWN])

    await world.send("one|two|three")
    await world.advance(10)

    assert world.telegram.texts == ["one", "two", "two", "two", "three"]
    assert (await world.row())["status"] == "delivered"


async def test_over_a_restart_too(tmp_path: Path, clock: FakeClock) -> None:
    opened = asyncio.Event()
    opened.set()
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as before:
        before.telegram.script.extend([opened, DOWN])
        await before.send("one|two")
        assert before.telegram.texts == ["one", "two"]
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as after:
        await after.advance(2)
        assert after.telegram.texts == ["two"]
        assert (await after.row())["status"] == "delivered"


@pytest.mark.policy(spacing_seconds={"telegram": 1.0})
async def test_parts_keep_their_distance_and_so_does_what_follows(world: World) -> None:
    await world.send("one|two|three")
    await world.send("next")
    await world.advance(10)

    moments = [(call.text, (call.at_us - world.telegram.calls[0].at_us) / 1_000_000) for call in world.telegram.calls]
    assert moments == [("one", 0), ("two", 1), ("three", 2), ("next", 3)]


@pytest.mark.policy(spacing_seconds={"telegram": 1.0})
async def test_a_throttle_between_two_parts_is_kept(world: World) -> None:
    await world.send("one|two")
    await world.limits.throttle("telegram", 60)  # type: ignore[attr-defined]
    await world.advance(59)
    assert world.telegram.texts == ["one"]
    assert waits(await world.row()) == "telegram asked us to wait"
    await world.advance(2)
    assert world.telegram.texts == ["one", "two"]
    assert (await world.row())["attempts"] == 1


# -- the store away --------------------------------------------------------------------------------------------


async def test_a_store_that_is_away_after_the_call_is_waited_for(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=600)
    await world.telegram.called(1)
    world.database.away = True
    gate.set()
    await world.advance(300)  # far beyond every lease
    world.database.away = False
    await world.advance(10)

    assert (await caller)["status"] == "ok"
    assert len(world.telegram.calls) == 1
    assert (await world.row())["possible_duplicate"] == 0


async def test_a_receipt_that_meets_a_deadlock_is_written_after_it_and_the_message_is_not_repeated(
    tmp_path: Path, clock: FakeClock, postgres_url: str
) -> None:
    database = PostgresDatabase(postgres_url)
    parts = Parts(ledger=PostgresLedger(database), policy=generous())
    async with living_world(tmp_path / "postroom.db", clock, parts) as world, deadlock(postgres_url):
        await database.hot(lambda connection: connection.execute(_DEADLOCK_WHEN_SETTLED))
        try:
            sending = world.start_sending()
            await clock.parked(3)  # the caller, the loop, and the one who will write it down again
            await clock.advance(0.05)
            answer = await asyncio.wait_for(sending, PATIENCE_SECONDS)
        finally:
            await database.hot(lambda connection: connection.execute("drop function settled cascade"))

        assert (answer["status"], world.telegram.texts, world.tally.bugs) == ("ok", ["Hello"], [])
        snapshot = await parts.ledger.get(answer["delivery"]["delivery_id"]) if parts.ledger else None
        assert snapshot is not None and (snapshot.status, snapshot.attempts) == (Status.DELIVERED, 1)
    await database.close()


async def test_a_settlement_that_was_written_though_its_answer_was_lost_counts(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=600)
    await world.telegram.called(1)
    await world.idle()
    world.database.lost_answers = 1
    gate.set()
    await world.advance(1)

    assert (await caller)["status"] == "ok"
    assert len(world.telegram.calls) == 1
    assert len(world.tally.endings) == 1


async def test_a_store_that_is_away_between_two_parts_is_waited_for(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending("one|two", wait_seconds=600)
    await world.telegram.called(1)
    world.database.away = True
    gate.set()
    await world.advance(60)
    world.database.away = False
    await world.advance(10)

    assert (await caller)["status"] == "ok"
    assert world.telegram.texts == ["one", "two"]


@pytest.mark.policy(breaker=BreakerPolicy(failure_threshold=1))
async def test_a_circuit_that_cannot_be_saved_does_not_undo_a_delivery(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(DOWN)
    await world.send()
    world.telegram.script.append(gate)
    world.telegram.script.append(gate)
    await world.advance(61)
    await world.send("second", recipient="2")
    assert world.telegram.active == 2
    world.database.away = True
    gate.set()  # both probes succeed, so the circuit closes, which cannot be saved
    await world.advance(5)
    world.database.away = False
    await world.advance(10)

    assert {row["status"] for row in await world.rows()} == {"delivered"}
    assert len(world.telegram.calls) == 3


async def test_somebody_else_s_delivery_is_left_alone(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=0)
    await world.telegram.called(1)
    await world.database.write(
        lambda connection: connection.execute(delivery_requests.update().values(fence=delivery_requests.c.fence + 1))
    )
    gate.set()
    await caller
    await world.idle()

    assert (await world.row())["status"] == "in_progress"
    assert await world.attempts() == []
    assert world.tally.endings == []


async def test_only_what_an_earlier_call_may_have_brought_is_repeated(world: World) -> None:
    world.telegram.script.extend([DOWN, OutcomeUncertain("cut off")])

    await world.send()
    await world.advance(10)

    assert [call.message.repeated for call in world.telegram.calls] == [False, False, True]
    assert [call.message.text for call in world.telegram.calls] == ["Hello"] * 3
    row = await world.row()
    assert (row["message_content"], row["possible_duplicate"]) == ("Hello", 1)
