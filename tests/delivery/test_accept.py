"""The door: duplicates, limits, circuits and refusals, decided once and exactly."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection
from structlog.testing import capture_logs
from tests.all_tables import metadata
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, envelope, generous, living_world
from tests.support.counted import CountedLoops
from tests.support.envelopes import CONTEXT, spoiled
from tests.support.redis_server import fresh_prefix
from tests.support.sample_deliveries import NOON_US, ending, mint, new_delivery

from postroom.delivery.model import Refusal
from postroom.delivery.notify import deliver_envelope
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.reading.record import deliveries_of
from postroom.delivery.rules.limits import LimitPolicy
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.store.limits_redis import RedisLimits
from postroom.delivery.store.postgres import PostgresLedger
from postroom.delivery.store.rows import new_snapshot
from postroom.delivery.store.tables import delivery_refusals
from postroom.kernel.database.engine import QuestionNotices
from postroom.kernel.database.postgres import PostgresDatabase, listening
from postroom.kernel.database.redis_script import connect
from postroom.kernel.values.errors import ErrorClass, TargetUnavailable, ValidationError
from postroom.message.delivery import DeliveryEvent, DeliveryFailure, Status
from postroom.message.wire import parse_notify

# -- one key, one message --------------------------------------------------------------------------------------


async def many_times(worlds: list[World], times: int) -> list[dict[str, Any]]:
    """The same envelope again and again, spread over the planes, all at once."""
    again = envelope(idempotency_key="pay-day")
    calls = [
        deliver_envelope(worlds[number % len(worlds)].plane, again, request_id="request-1", wait_seconds=60)
        for number in range(times)
    ]
    async with asyncio.timeout(60):
        return await asyncio.gather(*calls)


@pytest.mark.requirement(
    "messenger:idempotent-delivery-requests", "messenger:duplicate-detection", "notify:duplicate-notify-tolerated"
)
async def test_one_key_a_thousand_times_at_once_is_one_delivery(world: World) -> None:
    answers = await many_times([world], 1000)

    assert world.telegram.texts == ["Hello"]
    assert len(await world.rows()) == 1
    assert answers == [answers[0]] * 1000
    assert answers[0]["status"] == "ok"
    assert len(world.tally.repeats) == 999


@pytest.mark.parametrize(("sign", "kept"), [(False, "A long story"), (True, "health: A long story")])
async def test_what_was_asked_is_kept_as_it_came_and_its_words_once_unless_they_are_signed(
    tmp_path: Path, clock: FakeClock, sign: bool, kept: str
) -> None:
    policy = generous(sign=sign)
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=policy)) as world:
        asked = envelope("A long story")
        await deliver_envelope(world.plane, asked, request_id="request-1", wait_seconds=60)
        row = await world.row()
        [told] = await world.database.read(lambda connection: deliveries_of(connection, "request-1"))

    assert (row["message_content"], told.delivery.request_envelope) == (kept, asked)
    assert str(row).count("A long story") == 1 + sign


@pytest.mark.parametrize("planes", [1, 4])
async def test_on_postgres_and_over_several_planes_too(
    tmp_path: Path, clock: FakeClock, postgres_url: str, planes: int
) -> None:
    async with AsyncExitStack() as stack:
        databases = [PostgresDatabase(postgres_url, pool_size=4) for _ in range(planes)]
        for database in databases:
            stack.push_async_callback(database.close)
        await databases[0].migrate()
        await databases[0].write(_empty)
        worlds = []
        for number, database in enumerate(databases):
            parts = Parts(ledger=PostgresLedger(database), policy=generous())
            world = await stack.enter_async_context(living_world(tmp_path / f"{number}.db", clock, parts))
            wake, refresh = world.dispatcher.wake, world.plane.outcomes.refresh
            await stack.enter_async_context(listening(database, QuestionNotices(), wake, refresh, CountedLoops()))
            worlds.append(world)

        answers = await many_times(worlds, 1000)

        assert sum(len(world.telegram.calls) for world in worlds) == 1
        assert answers == [answers[0]] * 1000
        assert answers[0]["status"] == "ok"


async def test_planes_that_write_the_same_keys_at_once_do_not_lock_each_other_out(
    tmp_path: Path, clock: FakeClock, postgres_url: str
) -> None:
    async with AsyncExitStack() as stack:
        databases = [PostgresDatabase(postgres_url, pool_size=4) for _ in range(3)]
        for database in databases:
            stack.push_async_callback(database.close)
        await databases[0].migrate()
        await databases[0].write(_empty)
        parts = [Parts(ledger=PostgresLedger(database), policy=generous()) for database in databases]
        worlds = [
            await stack.enter_async_context(living_world(tmp_path / f"{number}.db", clock, one, running=False))
            for number, one in enumerate(parts)
        ]
        keys = [f"key-{number}" for number in range(60)]
        calls = [
            deliver_envelope(
                world.plane,
                envelope(idempotency_key=key, recipient=str(keys.index(key))),
                request_id=key,
                wait_seconds=0,
            )
            for place, world in enumerate(worlds)
            for key in (keys if place % 2 else reversed(keys))
        ]
        async with asyncio.timeout(60):
            answers = await asyncio.gather(*calls)

        assert {answer["status"] for answer in answers} <= {"accepted", "ok"}
        assert len({answer["delivery"]["delivery_id"] for answer in answers}) == 60


async def test_a_repeat_of_what_has_ended_gets_the_same_end(world: World) -> None:
    world.telegram.script.append(TargetUnavailable("503"))
    first = world.start_sending(idempotency_key="k", wait_seconds=60)
    await world.advance(2)
    ended = await first

    again = await world.send(idempotency_key="k", request_id="later")

    assert ended["status"] == again["status"] == "ok"
    assert again["delivery"] == ended["delivery"]
    assert len(world.telegram.calls) == 2


async def test_a_repeat_of_what_is_under_way_tells_how_far_it_is(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    await world.send(idempotency_key="k")

    again = await world.send(idempotency_key="k")

    assert (again["status"], again["delivery"]["status"]) == ("accepted", "in_progress")
    gate.set()


@pytest.mark.policy(limits=LimitPolicy(recipient_per_minute=1))
async def test_a_repeat_costs_no_token_and_no_place(world: World) -> None:
    answers = [await world.send(idempotency_key="k", request_id="r") for _ in range(5)]

    assert {answer["delivery"]["delivery_id"] for answer in answers} == {answers[0]["delivery"]["delivery_id"]}
    assert world.tally.refusals == []


@pytest.mark.parametrize("change", [{"recipient": "2000"}, {"message": "Other"}, {"channel": "email"}], ids=str)
async def test_one_key_for_two_messages_is_a_mistake(world: World, change: dict[str, str]) -> None:
    await world.send(message="Hello", idempotency_key="k")

    fields = {"message": "Hello", "idempotency_key": "k", **change}
    if change.get("channel"):
        fields["recipient"] = "ann@example.com"
    answer = await world.send(**fields)

    assert (answer["status"], answer["error_class"]) == ("error", "validation_error")
    assert answer["error"]["fields"] == [
        {"field": "idempotency_key", "error": "was already used for another message", "code": "key_reused"}
    ]
    assert len(await world.rows()) == 1


async def test_also_when_both_arrive_at_the_same_moment(world: World) -> None:
    callers = [world.start_sending(text, idempotency_key="k", wait_seconds=0) for text in ("one", "two")]

    answers = await asyncio.gather(*callers)

    assert sorted(answer["status"] for answer in answers) == ["accepted", "error"]
    assert len(await world.rows()) == 1


@pytest.mark.requirement("notify:idempotency-and-replay-tolerance")
async def test_the_same_request_routed_twice_is_delivered_once(world: World) -> None:
    answers = [await world.send(intent="reply", request_context=CONTEXT, wait_seconds=5) for _ in range(2)]

    assert answers[0] == answers[1]
    assert world.telegram.texts == ["Hello"]


async def test_the_same_words_tomorrow_are_another_message(world: World) -> None:
    await world.send("Take your pills")
    await world.send("Take your pills")

    assert world.telegram.texts == ["Take your pills"] * 2


# -- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.requirement(
    "messenger:rate-limiting",
    "messenger:global-admission-control",
    "messenger:channel-level-limits",
    "messenger:per-recipient-anti-flood",
)
@pytest.mark.parametrize("kind", ["memory", "redis"])
@pytest.mark.parametrize(
    ("limit_type", "admitted", "spread"),
    [
        ("recipient", 10, lambda _: {"recipient": "1"}),
        ("channel", 30, lambda number: {"recipient": str(number)}),
        ("global", 15, lambda number: _either(number)),
        ("global_in_flight", 100, lambda number: {"recipient": str(number)}),
    ],
    ids=["recipient", "channel", "global", "in flight"],
)
async def test_limits_are_exact_at_the_door_under_32_workers(
    tmp_path: Path,
    clock: FakeClock,
    request: pytest.FixtureRequest,
    kind: str,
    limit_type: str,
    admitted: int,
    spread: Any,
) -> None:
    policy = DeliveryPolicy(spacing_seconds={}, slots_per_channel=500)
    if limit_type == "global_in_flight":
        policy = generous(limits=LimitPolicy(global_per_minute=10**6, channels={"telegram.bot": 10**6}))
    elif limit_type == "global":
        policy = DeliveryPolicy(spacing_seconds={}, limits=LimitPolicy(global_per_minute=15))
    async with AsyncExitStack() as stack:
        parts = Parts(policy=policy)
        if kind == "redis":
            client = connect(request.getfixturevalue("redis_url"))
            client.connection_pool.connection_kwargs["socket_timeout"] = 30.0  # a slow machine is no Redis that is away
            stack.push_async_callback(client.aclose)
            limits = RedisLimits(client, fresh_prefix(), clock, clock_from_redis=False)
            parts = Parts(policy=policy, limits=limits)
        world = await stack.enter_async_context(living_world(tmp_path / "p.db", clock, parts, drain_seconds=0.1))
        held = asyncio.Event()
        if limit_type == "global_in_flight":
            world.telegram.always = held

        async def worker(number: int) -> list[dict[str, Any]]:
            return [
                await deliver_envelope(
                    world.plane, envelope(**spread(number * 5 + turn)), request_id=f"{number}-{turn}", wait_seconds=0
                )
                for turn in range(5)
            ]

        async with asyncio.timeout(60):
            answers = [answer for some in await asyncio.gather(*map(worker, range(32))) for answer in some]
        held.set()

        assert len(answers) == 160
        assert sum(answer["status"] == "accepted" for answer in answers) == admitted
        refused = [answer["error"] for answer in answers if answer["status"] == "error"]
        assert {error["limit_type"] for error in refused} == {limit_type}
        assert {error["class"] for error in refused} == {"overload_rejected"}
        assert all(error["retryable"] and error["retry_after_seconds"] > 0 for error in refused)
        assert len(await world.rows(delivery_refusals)) == 160 - admitted


def _either(number: int) -> dict[str, str]:
    if number % 2:
        return {"recipient": str(number)}
    return {"channel": "email", "recipient": f"{number}@example.com"}


@pytest.mark.requirement("messenger:channel-level-limits")
async def test_a_reply_costs_half(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "p.db", clock, Parts(policy=DeliveryPolicy(spacing_seconds={}))) as world:
        answers = [
            await world.send(f"{n}", intent="reply", request_context={**CONTEXT, "request_id": f"r{n}"})
            for n in range(25)
        ]

        assert sum(answer["status"] == "accepted" for answer in answers) == 20  # ten a minute, two for one


@pytest.mark.policy(limits=LimitPolicy(recipient_per_minute=1))
async def test_a_refused_request_does_not_burn_its_key_and_leaves_a_trace(world: World) -> None:
    await world.send("first")

    refused = await world.send("second", idempotency_key="k", request_id="r-2")

    assert refused["error"]["limit_type"] == "recipient"
    [row] = await world.rows(delivery_refusals)
    assert (row["request_id"], row["limit_type"], row["error_class"]) == ("r-2", "recipient", "overload_rejected")
    await world.advance(refused["error"]["retry_after_seconds"])
    assert (await world.send("second", idempotency_key="k"))["status"] == "accepted"
    assert world.telegram.texts == ["first", "second"]


@pytest.mark.policy(limits=LimitPolicy(in_flight=1, global_per_minute=10**6, recipient_per_minute=10**6))
async def test_a_place_in_flight_is_free_again_when_a_delivery_has_ended(world: World) -> None:
    world.telegram.script.append(TargetUnavailable("503"))
    await world.send("first")
    assert (await world.send("second"))["error"]["limit_type"] == "global_in_flight"
    await world.advance(2)
    assert (await world.send("second"))["status"] == "accepted"


@pytest.mark.policy(limits=LimitPolicy(in_flight=1, recipient_per_minute=1))
async def test_a_store_that_is_away_accepts_nothing_and_keeps_no_token(world: World) -> None:
    world.database.away = True
    refused = await world.send()
    world.database.away = False

    assert (refused["error_class"], refused["retryable"]) == ("target_unavailable", True)
    assert (await world.send())["status"] == "accepted"


@pytest.mark.policy(limits=LimitPolicy(recipient_per_minute=1))
async def test_a_refusal_keeps_its_reason_while_the_store_is_away(world: World) -> None:
    await world.send()
    world.database.away = True
    assert (await world.send())["error"]["limit_type"] == "recipient"


async def test_what_a_channel_can_never_carry_is_refused_at_the_door(world: World) -> None:
    world.telegram.unpreparable = ValidationError("an emoji is missing")

    answer = await world.send()

    assert (answer["error_class"], answer["error"]["message"]) == ("validation_error", "an emoji is missing")
    assert await world.rows() == []


async def test_a_channel_that_stumbles_over_a_message_is_our_mistake_and_repeats_none_of_it(world: World) -> None:
    world.telegram.unpreparable = KeyError("private words")

    answer = await world.send("private words")

    assert (answer["status"], answer["error_class"]) == ("error", "internal_error")
    assert "private" not in str(answer)
    assert [type(bug) for bug in world.tally.bugs] == [KeyError]
    assert await world.rows() == []


# -- callers who leave -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 3, 10, 30])
async def test_a_caller_who_hangs_up_cancels_nothing_that_was_stored(world: World, turns: int) -> None:
    caller = world.start_sending(idempotency_key="k")
    for _ in range(turns):
        await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    await world.idle()

    assert len(world.telegram.calls) == len(await world.rows()) <= 1
    if turns:
        assert world.telegram.texts == ["Hello"]


async def test_whoever_waits_with_the_one_who_hung_up_is_still_answered(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    leaving, staying = (world.start_sending(idempotency_key="k", request_id="r") for _ in range(2))
    await world.telegram.called(1)
    leaving.cancel()
    gate.set()

    assert (await staying)["status"] == "ok"


async def test_whoever_waits_with_the_one_who_hung_up_hears_of_a_store_that_is_away(world: World) -> None:
    world.database.lost_answers = 2
    held = world.database.hold_answers = asyncio.Event()
    leaving, staying = (world.start_sending(idempotency_key="k", request_id="r", wait_seconds=0) for _ in range(2))
    await world.idle()
    leaving.cancel()
    held.set()

    assert (await staying)["error_class"] == "target_unavailable"


def _empty(connection: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())


TELEGRAM = {"channel": "telegram"}
WHO = {**TELEGRAM, "intent": "send", "origin_butler": "health"}


def test_what_happens_is_counted_and_what_is_said_is_not_logged() -> None:
    registry = CollectorRegistry()
    meter = DeliveryMeter(registry)
    new = new_delivery(message="canary", subject="canary")
    refusal = Refusal(
        id=mint(),
        idempotency_key="k",
        request_id="r",
        origin_butler="health",
        channel="telegram",
        intent=new.intent,
        target_identity="1",
        failure=DeliveryFailure(ErrorClass.OVERLOAD, "canary", 1.0),
        limit_type="global",
        trace_id=None,
        created_at_us=NOON_US,
    )

    with capture_logs() as logs:
        meter.accepted(new)
        meter.repeated(new_snapshot(new, Status.PENDING))
        meter.refused(refusal)
        meter.settled(ending(new.claimed(sending=True), DeliveryEvent.RETRY))
        meter.settled(ending(replace(new.claimed(sending=True), attempts=1), DeliveryEvent.DELIVER))
        meter.bug(new.claimed(sending=True), KeyError("canary"))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"postroom_{name}", labels)

    assert value("delivery_requested_total", **WHO) == 1
    assert value("delivery_deduplicated_total", **WHO) == 1
    assert value("admission_rejected_total", **TELEGRAM, error_class="overload_rejected", limit_type="global") == 1
    assert value("delivery_settled_total", **TELEGRAM, status="pending") == 1
    assert value("delivery_settled_total", **TELEGRAM, status="delivered") == 1
    assert value("attempt_failed_total", **TELEGRAM, error_class="target_unavailable") == 1
    assert value("provider_latency_seconds_count", **TELEGRAM) == 2
    assert value("delivery_latency_seconds_count", **TELEGRAM) == 1
    assert "canary" not in str(logs)
    assert {line["event"] for line in logs} == {"delivery.refused", "delivery.settled", "delivery.bug"}


@pytest.mark.requirement("messenger:delivery-validation-and-lineage")
async def test_ten_thousand_wrong_envelopes_leave_no_row_and_no_message(world: World) -> None:
    dice = random.Random(3)
    refused = 0
    while refused < 10_000:
        wrong = spoiled(dice)
        try:
            parse_notify(wrong, world.plane.known_channels)
            continue  # still a good one
        except ValidationError:
            refused += 1
        answer = await deliver_envelope(world.plane, wrong, request_id="r", wait_seconds=5)
        assert (answer["status"], answer["error_class"], answer["retryable"]) == ("error", "validation_error", False)
        assert answer["error"]["fields"]

    assert await world.rows() == []
    assert world.telegram.calls == world.email.calls == []
    assert world.tally.stored == []


async def test_an_answer_carries_the_request_it_belongs_to(world: World) -> None:
    plain = await world.send(request_id="r-7", wait_seconds=5)
    reply = await world.send(intent="reply", request_context=CONTEXT, wait_seconds=5)

    assert plain["request_context"] == {"request_id": "r-7"}
    assert reply["request_context"] == {"request_id": "inbound-1"}
    assert [row["request_id"] for row in await world.rows()] == ["r-7", "inbound-1"]


async def test_a_delivery_that_was_stored_though_the_answer_was_lost_is_accepted_once(world: World) -> None:
    world.database.lost_answers = 1

    answer = await world.send(wait_seconds=5)

    assert answer["status"] == "ok"
    assert len(world.telegram.calls) == len(world.tally.stored) == len(await world.rows()) == 1
