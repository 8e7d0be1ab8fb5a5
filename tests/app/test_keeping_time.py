"""On PostgreSQL the machines of a household go by its clock, whatever their own say."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.domain.time import seconds
from postroom.system.clock import SystemClock
from tests.app.living import LIFTED, QUICK, living


def _set_clock(monkeypatch: pytest.MonkeyPatch, off_seconds: float) -> SystemClock:
    """The machine's is off; what is answered is right."""
    right = SystemClock.now_us
    true = type("True time", (SystemClock,), {"now_us": right})()
    monkeypatch.setattr(SystemClock, "now_us", lambda clock: right(clock) + seconds(off_seconds))
    return true


@pytest.mark.parametrize("off_seconds", [30.0, -30.0], ids=["ahead", "behind"])
async def test_a_machine_whose_clock_is_off_reads_leases_by_that_of_the_database(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, off_seconds: float
) -> None:
    true = _set_clock(monkeypatch, off_seconds)

    async with living(home, LIFTED, QUICK, {"database_url": postgres_url}) as alive:
        assert abs(alive.household.loops.clock.now_us() - true.now_us()) < seconds(5)


async def test_a_machine_with_a_database_of_its_own_has_its_own_clock(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = _set_clock(monkeypatch, 30.0)

    async with living(home, LIFTED, QUICK) as alive:
        assert alive.household.loops.clock.now_us() - true.now_us() > seconds(25)
