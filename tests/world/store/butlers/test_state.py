"""A butler's small memory, on both databases."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database

from postroom.world.store.butlers.state import StoredState


@pytest.mark.parametrize("kind", KINDS)
async def test_values_come_back_as_they_were_and_versions_count(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        mine, other = StoredState(database, "health"), StoredState(database, "general")
        value = {"list": [1, None, "ü"], "deep": {"x": True}}

        assert await mine.set("a%b", value, expected_version=None, now_us=1) == 1
        assert await mine.set("a%b", 2, expected_version=0, now_us=2) is None
        assert await mine.set("a%b", 2, expected_version=1, now_us=2) == 2
        assert await mine.set("axb", value, expected_version=0, now_us=3) == 1
        assert await mine.get("axb") == {"key": "axb", "value": value, "version": 1}
        assert await other.get("axb") is None
        assert await mine.keys("a%", 10) == ["a%b"]
        assert await mine.keys("A", 10) == []
        assert await mine.delete("a%b") is True
        assert await mine.delete("a%b") is False


@pytest.mark.parametrize("kind", KINDS)
async def test_of_many_who_expect_the_same_version_one_wins(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        state = StoredState(database, "health")
        await state.set("k", 0, expected_version=None, now_us=1)

        tries = [state.set("k", number, expected_version=1, now_us=2) for number in range(20)]
        results = await asyncio.gather(*tries)

        assert sorted(result for result in results if result) == [2]


@pytest.mark.parametrize("kind", KINDS)
async def test_of_many_who_write_a_key_first_one_is_the_first(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        state = StoredState(database, "health")

        careful = await asyncio.gather(*(state.set("c", n, expected_version=0, now_us=1) for n in range(8)))
        careless = await asyncio.gather(*(state.set("k", n, expected_version=None, now_us=1) for n in range(8)))

        assert sorted(version for version in careful if version) == [1]
        assert sorted(version or 0 for version in careless) == [1, 2, 3, 4, 5, 6, 7, 8]
