"""Who works on what and when: order, spacing, fairness, slots, recovery and stopping."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Update
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, generous, living_world
from tests.support.sample_deliveries import new_delivery

from postroom.delivery.model import Claim, Lease
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.values.errors import ProviderThrottled, TargetUnavailable

DOWN = TargetUnavailable("the provider answered 503")
SWEEP_SECONDS = DeliveryPolicy().sweep_seconds


def moments(world: World) -> list[float]:
    first = world.telegram.calls[0].at_us
    return [(call.at_us - first) / 1_000_000 for call in world.telegram.calls]


@pytest.mark.policy(spacing_seconds={"telegram": 1.0})
async def test_one_chat_gets_one_message_a_second_and_another_chat_need_not_wait(world: World) -> None:
    for number in range(4):
        await world.send(str(number), recipient="1")
    await world.send("other", recipient="2")
    await world.advance(10)

    assert world.telegram.texts == ["0", "other", "1", "2", "3"]
    assert moments(world) == [0, 0, 1, 2, 3]


async def test_order_is_kept_per_address_through_failures(world: World) -> None:
    world.telegram.script.extend([DOWN, ProviderThrottled("429", retry_after_seconds=3)])

    for text in ("first", "second", "third"):
        await world.send(text)
    await world.advance(20)

    assert world.telegram.texts == ["first", "first", "first", "second", "third"]
    assert {row["status"] for row in await world.rows()} == {"delivered"}


async def test_many_at_once_to_one_address_leave_one_by_one_in_order(world: World) -> None:
    callers = [world.start_sending(f"{number:02}", wait_seconds=60) for number in range(20)]
    await world.idle()
    await world.advance(1)

    answers = await asyncio.gather(*callers)

    assert world.telegram.texts == [f"{number:02}" for number in range(20)]
    assert world.telegram.most_active == 1
    assert {answer["status"] for answer in answers} == {"ok"}


@pytest.mark.policy(spacing_seconds={"telegram": 1.0})
async def test_an_alarm_waits_for_one_long_text_of_another_sender_to_its_address_not_for_ten(world: World) -> None:
    for number in range(10):
        await world.send("|".join(f"{number}{part}" for part in "abcde"), origin_butler="writer")
    await world.send("alarm", origin_butler="smoke", priority="high")
    await world.send("note", origin_butler="diary", priority="low")
    await world.send("hello", origin_butler="friend")
    await world.advance(60)

    texts = world.telegram.texts
    others = ("alarm", "hello", "note")
    assert [texts.index(each) for each in others] == [5, 11, 52]
    assert [text for text in texts if text not in others] == [f"{n}{part}" for n in range(10) for part in "abcde"]


async def test_one_that_fails_for_good_lets_the_next_pass(world: World) -> None:
    world.telegram.script.extend([DOWN] * 3)

    await world.send("first")
    await world.send("second")
    await world.advance(5)

    assert world.telegram.texts == ["first"] * 3 + ["second"]
    assert [row["status"] for row in await world.rows()] == ["dead_lettered", "delivered"]


@pytest.mark.policy(slots_per_channel=2)
async def test_a_burst_takes_no_more_slots_than_there_are(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.extend([gate, gate])
    burst = [
        world.start_sending(f"noise {n}", recipient=str(n), origin_butler="noisy", wait_seconds=0) for n in range(60)
    ]
    await asyncio.gather(*burst)
    await world.send("please", recipient="999", origin_butler="health")
    assert world.telegram.active == 2

    gate.set()
    await world.idle()

    assert len(world.telegram.calls) == 61
    assert world.telegram.texts.index("please") <= 4


@pytest.mark.policy(slots_per_channel=3)
async def test_a_slow_channel_does_not_hold_up_the_other(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.always = gate
    for number in range(10):
        await world.send(recipient=str(number))

    answer = await world.send("mail", channel="email", recipient="ann@example.com", wait_seconds=5)

    assert answer["status"] == "ok"
    assert world.telegram.active == 3
    gate.set()
    world.telegram.always = None
    await world.idle()
    assert len(world.telegram.calls) == 10


@pytest.mark.policy(sweep_seconds=600.0)
async def test_every_retry_comes_at_its_own_time_and_not_at_the_next_sweep(world: World) -> None:
    for number, wait in enumerate((2, 3, 7)):
        world.telegram.script.append(TargetUnavailable("busy", retry_after_seconds=wait))
        await world.send(recipient=str(number))

    await world.advance(20)

    assert moments(world) == [0, 0, 0, 2, 3, 7]


async def test_a_row_of_another_process_whose_notice_was_lost_is_claimed_at_the_next_sweep(world: World) -> None:
    await world.advance(1.5 * SWEEP_SECONDS)
    await world.pipeline.ledger.insert(new_delivery(), None)
    await world.idle()
    assert world.telegram.calls == []

    await world.advance(SWEEP_SECONDS)

    assert (await world.row())["status"] == "delivered"


@pytest.mark.policy(slots_per_channel=1, sweep_seconds=3600.0)
async def test_more_retries_at_one_moment_than_there_are_slots_follow_each_other_without_a_sweep(world: World) -> None:
    for recipient in ("1", "2", "3"):
        world.telegram.script.append(TargetUnavailable("busy", retry_after_seconds=60))
        await world.send(recipient=recipient)

    await world.advance(60)

    assert moments(world) == [0, 0, 0, 60, 60, 60]


async def test_what_a_lost_worker_had_not_begun_is_given_back_at_the_next_start(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as before:
        await before.send()
        await before.database.write(
            lambda connection: connection.exec_driver_sql("DROP TRIGGER delivery_requests_moves")
        )
        lost = {
            "status": "in_progress",
            "lease_until": clock.now_us() + 10**9,
            "sending": False,
            "attempts": 0,
            "calls": 5,
        }
        await before.database.write(lambda connection: connection.execute(delivery_requests.update().values(lost)))
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as after:
        assert after.telegram.texts == ["Hello"]
        row = await after.row()
        assert (row["status"], row["attempts"], row["possible_duplicate"]) == ("delivered", 1, 0)


@pytest.mark.parametrize(
    ("policy", "texts", "status", "possible_duplicate"),
    [("resend", ["Hello"], "delivered", 1), ("hold", [], "dead_lettered", 0)],
)
async def test_what_a_lost_worker_may_have_sent_is_uncertain(
    tmp_path: Path, clock: FakeClock, policy: str, texts: list[str], status: str, possible_duplicate: int
) -> None:
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous()), drain_seconds=0.05) as before:
        before.telegram.script.append(asyncio.Event())  # never answers: the process ends first
        await before.send(on_uncertain=policy)
        assert (await before.row())["sending"] == 1
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as after:
        await after.advance(5)
        row = await after.row()
        assert after.telegram.texts == texts
        assert (row["status"], row["possible_duplicate"]) == (status, possible_duplicate)
        assert (await after.attempts())[0] == ("uncertain", "timeout")


async def test_in_a_running_household_a_lease_that_ran_out_is_swept(world: World) -> None:
    world.telegram.script.append(DOWN)
    await world.send(wait_seconds=0)
    await world.database.write(lambda connection: connection.execute(_taken_elsewhere(world.clock.now_us())))
    await world.advance(60)  # a worker that is lost for longer than its lease

    assert world.telegram.texts == ["Hello", "Hello"]
    row = await world.row()
    assert (row["status"], row["possible_duplicate"], row["provider_delivery_id"]) == ("delivered", 1, "2")


def _taken_elsewhere(now_us: int) -> Update:
    table = delivery_requests.c
    return delivery_requests.update().values(
        status="in_progress", fence=table.fence + 1, sending=True, lease_until=now_us + 30_000_000
    )


@pytest.mark.parametrize("by_seconds", [60, 600])
async def test_a_call_in_hand_is_not_taken_from_oneself_when_the_clock_jumps(world: World, by_seconds: float) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=3_600)
    await world.telegram.called(1)
    await world.advance(by_seconds)

    assert world.telegram.texts == ["Hello"]
    gate.set()
    assert (await caller)["status"] == "ok"
    assert (await world.row())["possible_duplicate"] == 0


async def test_a_clock_that_is_set_back_while_we_ask_the_store_does_not_put_us_to_sleep_for_as_long(
    world: World,
) -> None:
    world.telegram.script.append(DOWN)
    await world.send()
    held = world.database.hold_answers = asyncio.Event()
    world.dispatcher.wake()
    await world.idle()
    world.clock.jump(-3_600)
    world.database.hold_answers = None
    held.set()

    await world.advance(15)

    assert (await world.row())["status"] == "delivered"


async def test_stopping_lets_running_calls_finish_and_gives_the_rest_back(tmp_path: Path, clock: FakeClock) -> None:
    policy = generous(spacing_seconds={"telegram": 4.0})
    async with living_world(tmp_path / "p.db", clock, Parts(policy=policy)) as world:
        gate = asyncio.Event()
        world.telegram.script.append(gate)
        await world.send("running", recipient="1")
        await world.send("sent", recipient="2")
        await world.send("spaced", recipient="2")  # claimed, waits for its turn in the chat
        await world.idle()

        draining = asyncio.create_task(world.dispatcher.drain(5))
        await world.idle()
        gate.set()

        assert await draining == 0
        states = {row["message_content"]: row["status"] for row in await world.rows()}
        assert states == {"running": "delivered", "sent": "delivered", "spaced": "pending"}
        assert world.telegram.texts == ["running", "sent"]
    async with living_world(tmp_path / "p.db", clock, Parts(policy=policy)) as after:
        await after.advance(5)
        assert after.telegram.texts == ["spaced"]
        assert {row["possible_duplicate"] for row in await after.rows()} == {0}


async def test_after_stopping_began_nothing_new_is_sent(world: World) -> None:
    await world.dispatcher.drain(1)

    answer = await world.send()

    assert answer["status"] == "accepted"
    assert world.telegram.calls == []
    assert (await world.row())["status"] == "pending"


async def test_stopping_waits_for_what_is_being_written_leased(world: World) -> None:
    written = asyncio.Event()
    world.database.hold_answers = written
    sending = world.start_sending(wait_seconds=0)
    await world.idle()  # on the disk and leased to us, and we have not heard so yet

    draining = asyncio.create_task(world.dispatcher.drain(5))
    await world.idle()
    assert not draining.done()
    written.set()

    assert await draining == 0
    row = await world.row()
    assert (row["status"], row["sending"], row["possible_duplicate"]) == ("pending", 0, 0)
    assert (await sending)["status"] == "accepted"
    assert world.telegram.calls == []


@pytest.mark.policy(slots_per_channel=1)
async def test_stopping_waits_for_what_is_being_written_without_a_slot(world: World) -> None:
    """Whoever handed it in hears that it is stored."""
    assert world.dispatcher.reserve("telegram")  # the only one
    written = world.database.hold_answers = asyncio.Event()
    sending = world.start_sending(wait_seconds=0)
    await world.idle()

    draining = asyncio.create_task(world.dispatcher.drain(5))
    await world.idle()
    assert not draining.done()
    world.database.hold_answers = None
    written.set()

    assert await draining == 0
    assert (await sending)["status"] == "accepted"
    assert (await world.row())["status"] == "pending"
    world.dispatcher.unreserve("telegram")


async def test_a_store_that_is_away_stops_nobody_for_good(world: World) -> None:
    world.telegram.script.append(DOWN)
    await world.send()
    world.database.away = True
    await world.advance(120)
    world.database.away = False
    await world.advance(6)

    assert (await world.row())["status"] == "delivered"


async def test_a_row_nobody_can_read_is_told_and_stops_nobody_for_good(world: World) -> None:
    world.telegram.script.append(DOWN)
    await world.send()
    await world.database.write(lambda connection: connection.execute(delivery_requests.update().values(priority=9)))
    await world.advance(30)
    assert set(world.loops.errors) == {("dispatcher", "KeyError")}

    await world.database.write(lambda connection: connection.execute(delivery_requests.update().values(priority=1)))
    await world.advance(16)

    assert (await world.row())["status"] == "delivered"


@pytest.mark.policy(slots_per_channel=1)
async def test_a_bug_in_one_delivery_leaves_the_slot_free(world: World) -> None:
    del world.pipeline.channels["telegram"]  # type: ignore[attr-defined]
    claim = await _leased(world)
    world.dispatcher.take(claim)
    await world.idle()

    assert [type(bug) for bug in world.tally.bugs] == [KeyError]
    assert world.dispatcher.reserve("telegram")


async def _leased(world: World) -> Claim:
    inserted = await world.pipeline.ledger.insert(new_delivery(), Lease(until_us=world.clock.now_us() + 30_000_000))
    assert inserted.claim is not None
    return inserted.claim
