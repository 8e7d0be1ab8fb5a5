"""Several workers learn at once that a circuit has opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from postroom.delivery.rules.breaker import Circuit, CircuitState
from postroom.delivery.store.limits import StoredCircuits
from postroom.household.store import open_store
from postroom.settings.load import load


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'postroom.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


def opened(generation: int) -> Circuit:
    return Circuit(state=CircuitState.OPEN, failures=5, opened_at_us=generation, generation=generation, reason="503")


async def test_all_of_them_may_write_it_down_and_the_newest_stands(database_url: str, tmp_path: Path) -> None:
    settings, _ = load({"POSTROOM_HOME": str(tmp_path), "POSTROOM_DATABASE_URL": database_url})
    async with open_store(settings) as store:
        record = StoredCircuits(store.database)

        await asyncio.gather(*(record.save("telegram", opened(1 + number % 4), number) for number in range(24)))

        assert (await record.load())["telegram"].generation == 4


async def test_an_older_circuit_does_not_replace_a_newer_one(database_url: str, tmp_path: Path) -> None:
    settings, _ = load({"POSTROOM_HOME": str(tmp_path), "POSTROOM_DATABASE_URL": database_url})
    async with open_store(settings) as store:
        record = StoredCircuits(store.database)
        await record.save("telegram", opened(3), 1)

        await record.save("telegram", opened(2), 2)

        assert (await record.load())["telegram"] == opened(3)
