"""Circuits outlive the process, and the newest state wins."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.support.sample_deliveries import NOON_US

from postroom.delivery.rules.breaker import Circuit, CircuitState
from postroom.delivery.store.limits import StoredCircuits
from postroom.kernel.database.engine import Database

OPEN = Circuit(
    state=CircuitState.OPEN,
    failures=5,
    opened_at_us=NOON_US,
    generation=3,
    reason="503",
    error_class="target_unavailable",
)


@pytest.fixture
def circuits(database: Database) -> StoredCircuits:
    return StoredCircuits(database)


async def test_a_circuit_comes_back_as_it_was(circuits: StoredCircuits) -> None:
    await circuits.save("telegram", OPEN, NOON_US)

    assert await circuits.load() == {"telegram": OPEN}


async def test_an_older_generation_does_not_overwrite_a_newer_one(circuits: StoredCircuits) -> None:
    await circuits.save("telegram", OPEN, NOON_US)
    await circuits.save("telegram", Circuit(generation=2), NOON_US)
    assert (await circuits.load())["telegram"] == OPEN

    closed = Circuit(generation=4)
    await circuits.save("telegram", closed, NOON_US)
    assert (await circuits.load())["telegram"] == closed


async def test_many_who_save_at_once_disturb_nobody(circuits: StoredCircuits) -> None:
    changing = [replace(OPEN, generation=generation) for generation in range(1, 11)]

    await asyncio.gather(*(circuits.save("email", circuit, NOON_US) for circuit in changing for _ in range(2)))

    assert (await circuits.load())["email"].generation == 10
