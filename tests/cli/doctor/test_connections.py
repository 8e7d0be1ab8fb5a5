"""What the doctor says about connections to the database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.household.living import settings_for

from postroom.cli.doctor.checks import Finding, look_at_connections, look_at_database


async def connections(home: Path, url: str, **postgres: Any) -> Finding:
    [found] = await look_at_connections(settings_for(home, {"database_url": url, "postgres": postgres}))
    return found


async def test_the_doctor_counts_how_many_processes_the_server_has_room_for(home: Path, postgres_url: str) -> None:
    found = await connections(home, postgres_url)

    assert found.ok
    told = re.fullmatch(r"19 per process at most, (\d+) on the server: room for (\d+) processes", found.detail)
    assert told is not None, found.detail
    assert int(told[1]) // 19 == int(told[2]) > 0


async def test_a_process_that_wants_more_than_the_server_has_is_a_problem(home: Path, postgres_url: str) -> None:
    found = await connections(home, postgres_url, pool_size=100_000, notices="poll")

    assert not found.ok
    assert found.detail.startswith("100010 per process")
    assert "postgres.pool_size" in found.advice


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:9/nothing"])
async def test_a_server_that_is_away_is_said_to_be_away(home: Path, url: str) -> None:
    """By the database's own finding, once."""
    settings = settings_for(home, {"database_url": url})

    assert await look_at_connections(settings) == []
    assert not (await look_at_database(settings)).ok
