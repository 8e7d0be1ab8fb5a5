"""Several processes may send for one household: doctor names those that live."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from postroom.cli.doctor.checks import Finding, look_at_workers
from postroom.kernel.database.workers import LivingWorker, WorkerPulse, living
from postroom.settings import Settings
from tests.household.asked_household import until
from tests.household.living import settings_for
from tests.household.processes import command, environment, part
from tests.clock import FakeClock
from tests.opened_database import KINDS, opened_database

pytestmark = pytest.mark.asyncio


async def test_doctor_names_a_worker_while_it_lives(home: Path, postgres_url: str) -> None:
    variables = environment(home, POSTROOM_DATABASE_URL=postgres_url)
    settings = settings_for(home, {"database_url": postgres_url})
    with part(variables, "sandbox", "switchboard", "messenger"):
        with command(variables, "worker") as worker:
            two = await _told(settings, "2 running: postroom up on ")
            pid = worker.pid
        one = await _told(settings, "1 running: postroom up on ")
    none = await _told(settings, "none is running")

    assert two.ok and f"({pid})" in two.detail.partition(", postroom worker on ")[2]
    assert "postroom worker" not in one.detail
    assert none.ok


async def _told(settings: Settings, words: str) -> Finding:
    """A worker is written down a moment after it says that it runs."""

    async def look() -> Finding | None:
        [found] = await look_at_workers(settings)
        return found if found.detail.startswith(words) else None

    return await until(look)


async def test_a_worker_prints_what_it_is(home: Path, postgres_url: str) -> None:
    variables = environment(home, POSTROOM_DATABASE_URL=postgres_url)
    with part(variables, "sandbox", "switchboard", "messenger"), command(variables, "worker") as worker:
        assert worker.stdout.readline() == "\n"
        assert "This is a delivery worker: it sends what the household has stored" in worker.stdout.readline()


@pytest.mark.parametrize("kind", KINDS)
async def test_one_that_died_is_not_counted_after_half_a_minute(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, clock: FakeClock
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        names = ("barn (1)", "house (2)")
        first, second = (
            WorkerPulse(
                database=database,
                clock=clock,
                worker=LivingWorker(name=name, alone=True, since_us=clock.now_us(), seen_us=0),
            )
            for name in names
        )
        await first.look()
        await second.look()
        await clock.advance(31)
        await second.look()

        found = await database.read(partial(living, now_us=clock.now_us()))

    assert [one.name for one in found] == ["house (2)"]
