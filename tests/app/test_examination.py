"""What the doctor says about connections to the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.app.examination import Finding, examine
from tests.app.living import settings_for


async def connections(home: Path, url: str, **postgres: Any) -> Finding:
    findings = await examine(settings_for(home, {"database_url": url, "postgres": postgres}))
    return next(one for one in findings if one.subject == "connections")


async def test_the_doctor_counts_how_many_processes_the_server_has_room_for(home: Path, postgres_url: str) -> None:
    found = await connections(home, postgres_url)

    assert found.ok
    assert found.detail == "19 per process at most, 297 on the server: room for 15 processes"


async def test_a_process_that_wants_more_than_the_server_has_is_a_problem(home: Path, postgres_url: str) -> None:
    found = await connections(home, postgres_url, pool_size=400, notices="poll")

    assert not found.ok
    assert found.detail.startswith("410 per process")
    assert "postgres.pool_size" in found.advice


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:9/nothing"])
async def test_a_server_that_is_away_is_said_to_be_away(home: Path, url: str) -> None:
    found = await connections(home, url)

    assert not found.ok
    assert "check database_url" in found.advice
