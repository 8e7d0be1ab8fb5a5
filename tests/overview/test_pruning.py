"""Pruning a household while it works, and from the shell."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.app.living import LIFTED, QUICK, living
from tests.opened_database import KINDS, opened_database
from tests.services import warm_process
from tests.support.delivery_rows import NOON_US, attempt_row, request_row, write

from postroom.delivery.files.taking import DAY_US, retention
from postroom.kernel.database.engine import Database
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.overview.pruning import DELIVERIES, Pruner, fitting

OLD_US = NOON_US - 400 * DAY_US


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


async def fill(database: Database, many: int, at_us: int = OLD_US) -> list[dict[str, Any]]:
    rows = [request_row(at_us + n * DAY_US, terminal_at=at_us + n * DAY_US) for n in range(many)]
    await write(database, rows, [attempt_row(row, 1, 1.0) for row in rows])
    return rows


async def no_rest(_: float) -> None:
    """Tests have no time to rest."""


async def test_an_interrupted_run_is_taken_up_by_the_next(database: Database) -> None:
    await fill(database, 50)
    keep = retention(NOON_US, 90 * DAY_US)

    def enough(name: str, number: int) -> None:
        if name == DELIVERIES:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Pruner(database=database, batch=20, tell=enough, rest=no_rest).prune(keep)
    told: list[int] = []
    pruner = Pruner(database=database, batch=20, tell=lambda name, n: told.append(n), rest=no_rest)

    assert (await pruner.estimate(keep))[DELIVERIES] == 30
    assert (await pruner.prune(keep))[DELIVERIES] == 30
    assert told[0] == 20
    assert sum((await pruner.estimate(keep)).values()) == 0


@pytest.mark.parametrize(
    ("size", "took", "next_size"),
    [(100, 0.5, 50), (30, 0.5, 25), (100, 0.01, 100), (100, 0.001, 200), (400, 0.001, 500)],
    ids=["too long", "never too few", "just right", "short", "never more than asked for"],
)
def test_a_batch_is_as_large_as_a_moment_allows(size: int, took: float, next_size: int) -> None:
    assert fitting(size, took, 500) == next_size


async def test_it_rests_after_every_batch(database: Database) -> None:
    await fill(database, 3)
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    await Pruner(database=database, batch=1, tell=lambda *_: None, rest=rest).prune(retention(NOON_US, DAY_US))

    assert len(rests) >= 3
    assert all(seconds > 0 for seconds in rests)


@pytest.mark.timeout(120)
async def test_from_the_shell_beside_a_household_that_delivers(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        database = SqliteDatabase(house.settings.home / "postroom.db")
        try:
            old = await fill(database, 300)
        finally:
            await database.close()
        pruning = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "postroom", "prune", "--home", str(home), "--batch-size", "20", "--json"),
            stdout=subprocess.PIPE,
        )
        answers = [await house.notify(message=f"note {number}") for number in range(20)]
        out, _ = await pruning.communicate()
        gone = await house.call("messenger", "messenger_delivery_status", {"delivery_id": old[0]["id"]})

    assert pruning.returncode == 0
    assert json.loads(out)["pruned"][DELIVERIES] == 300
    assert {answer["status"] for answer in answers} == {"ok"}
    assert "not found" in str(gone).lower(), gone


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--older-than", "90"], "whole number with its unit"),
        (["--older-than", "90d", "--dry-run"], "Nothing is old enough to go."),
    ],
    ids=["no unit", "nothing to do"],
)
def test_the_command_says_what_it_means(home: Path, arguments: list[str], told: str) -> None:
    for command in (["migrate"], ["prune", *arguments]):
        done = warm_process.run(os.environ, *command)

    assert told in done.stdout + done.stderr
