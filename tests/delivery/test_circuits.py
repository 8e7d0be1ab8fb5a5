"""The circuit of a channel, through the real ledger: when it opens, who is let through, and what is remembered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, generous, living_world
from tests.support.delivery_rows import waits

from postroom.delivery.rules.breaker import BreakerPolicy, CircuitState
from postroom.delivery.rules.retry import RetryPolicy
from postroom.kernel.values.errors import (
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)

DOWN = TargetUnavailable("the provider answered 503")


@pytest.mark.requirement("messenger:circuit-breaker", "messenger:closed-to-open-transition")
async def test_the_fifth_failure_in_a_row_opens_the_circuit_and_validation_errors_do_not_count(world: World) -> None:
    world.telegram.script.extend([DOWN, DOWN, DOWN, DOWN, ValidationError("bad"), ProviderThrottled("429"), DOWN])
    for number in range(5):
        await world.send(recipient=str(number))
    assert (await world.breakers.circuit("telegram")).state is CircuitState.CLOSED
    await world.advance(0.5)
    assert (await world.breakers.circuit("telegram")).failures == 4

    await world.advance(0.6)

    circuit = await world.breakers.circuit("telegram")
    assert (circuit.state, circuit.failures, circuit.reason) == (CircuitState.OPEN, 5, "the provider answered 503")


@pytest.mark.requirement("messenger:closed-to-open-transition", "messenger:recovery-via-half-open")
@pytest.mark.policy(retry=RetryPolicy(max_attempts=3, base_seconds=10))
async def test_while_open_new_ones_are_refused_and_stored_ones_wait_without_losing_attempts(world: World) -> None:
    world.telegram.script.extend([DOWN] * 5)
    for number in range(5):
        await world.send(recipient=str(number))

    refused = await world.send(recipient="6")
    assert refused["error"]["type"] == "CircuitOpenError"
    assert (refused["error_class"], refused["retryable"]) == ("target_unavailable", True)
    assert refused["error"]["retry_after_seconds"] == 60.0
    assert len(await world.rows()) == 5  # the refused one is a trace, not a delivery

    await world.advance(30)
    assert len(world.telegram.calls) == 5
    assert {(row["status"], row["attempts"]) for row in await world.rows()} == {("pending", 1)}
    assert {waits(row) for row in await world.rows()} == {"the circuit of telegram is open"}

    await world.advance(31)
    assert {(row["status"], row["attempts"]) for row in await world.rows()} == {("delivered", 2)}
    assert (await world.breakers.circuit("telegram")).state is CircuitState.CLOSED


@pytest.mark.requirement("messenger:recovery-via-half-open")
@pytest.mark.policy(breaker=BreakerPolicy(failure_threshold=1), retry=RetryPolicy(base_seconds=60, jitter=0))
async def test_half_open_lets_two_of_twenty_through_at_a_time(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    first = world.start_sending(recipient="0", wait_seconds=0)
    waiting = [world.start_sending(recipient=str(number), wait_seconds=0) for number in range(1, 20)]
    world.telegram.always = DOWN
    await asyncio.gather(first, *waiting)
    gate.set()
    await world.idle()
    assert (await world.breakers.circuit("telegram")).state is CircuitState.OPEN
    calls, probe = len(world.telegram.calls), asyncio.Event()
    world.telegram.always = probe
    world.telegram.most_active = 0

    await world.advance(61)

    assert world.telegram.most_active == 2
    assert len(world.telegram.calls) - calls == 2
    probe.set()
    world.telegram.always = None
    await world.idle()
    assert (await world.breakers.circuit("telegram")).state is CircuitState.CLOSED
    await world.advance(70)
    assert {row["status"] for row in await world.rows()} == {"delivered"}


@pytest.mark.requirement("messenger:recovery-via-half-open")
@pytest.mark.policy(breaker=BreakerPolicy(failure_threshold=1), retry=RetryPolicy(max_attempts=9))
async def test_a_failed_probe_opens_the_circuit_again(world: World) -> None:
    world.telegram.always = DOWN
    await world.send()
    await world.advance(60)
    assert len(world.telegram.calls) == 2
    circuit = await world.breakers.circuit("telegram")
    assert (circuit.state, circuit.opened_at_us) == (CircuitState.OPEN, world.telegram.calls[1].at_us)


async def test_an_open_circuit_is_still_open_after_a_restart(tmp_path: Path, clock: FakeClock) -> None:
    policy = generous(breaker=BreakerPolicy(failure_threshold=1))
    async with living_world(tmp_path / "p.db", clock, Parts(policy=policy)) as before:
        before.telegram.script.append(DOWN)
        await before.send()
    async with living_world(tmp_path / "p.db", clock, Parts(policy=policy)) as after:
        assert (await after.breakers.circuit("telegram")).state is CircuitState.OPEN
        assert (await after.send(recipient="2"))["error"]["type"] == "CircuitOpenError"


async def test_a_call_that_was_never_made_says_nothing_about_the_provider(tmp_path: Path, clock: FakeClock) -> None:
    policy = generous(breaker=BreakerPolicy(failure_threshold=2))
    async with living_world(tmp_path / "p.db", clock, Parts(policy=policy), running=False) as world:
        world.telegram.script.append(DOWN)
        await world.send(recipient="1")
        assert (await world.breakers.circuit("telegram")).failures == 1
        later = clock.now_us() + 2_000_000
        [claim] = await world.pipeline.ledger.claim(
            "telegram", now_us=later, lease_until_us=later + 30_000_000, limit=1
        )
        world.database.away = True

        attempt = asyncio.create_task(world.pipeline.attempt(claim))
        await world.advance(5)
        world.database.away = False
        await world.advance(5)

        assert await attempt is not None
        assert (await world.breakers.circuit("telegram")).failures == 1
        assert len(world.telegram.calls) == 1


async def test_a_mark_that_could_not_be_written_leaves_nothing_in_doubt(tmp_path: Path, clock: FakeClock) -> None:
    """Whether the mark stands is unknown; that nothing was sent is not."""
    async with living_world(tmp_path / "p.db", clock, running=False) as world:
        world.telegram.script.append(DOWN)
        await world.send(recipient="1")
        later = clock.now_us() + 2_000_000
        [claim] = await world.pipeline.ledger.claim(
            "telegram", now_us=later, lease_until_us=later + 30_000_000, limit=1
        )
        world.database.away = True
        attempt = asyncio.create_task(world.pipeline.attempt(claim))
        await world.advance(5)
        world.database.away = False
        await world.advance(5)

        assert await attempt is not None
        row = await world.row()
        assert (row["status"], row["sending"], row["possible_duplicate"], row["attempts"]) == ("pending", 0, 0, 1)
        assert len(world.telegram.calls) == 1
