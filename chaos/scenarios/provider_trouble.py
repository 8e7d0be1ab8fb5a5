"""The provider asks for patience, or is not there for a while."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Final

from chaos import journal
from chaos.answered import under_way
from chaos.job import Until
from chaos.journal import Step
from chaos.ledger_compare import Cause
from chaos.scenario import Result, Scenario, World, expectations

_SLOTS: Final = 32
_RETRY_AFTER_SECONDS: Final = 1


async def throttle_storm(world: World) -> Result:
    """Waiting costs no attempt, and nobody knocks again before the time is over."""
    number, seconds = world.sized(1_000, 100), 6.0 if not world.short else 2.0
    async with world.sqlite("429") as rig:
        await rig.provider.arm("telegram", times=-1, status=429, retry_after=_RETRY_AFTER_SECONDS)
        worker = rig.processes.job(rig.job(packages=rig.packages(number), limit_seconds=90.0))
        await _first_call(rig.journal)
        await asyncio.sleep(seconds)
        calls = Counter(entry.step for entry in journal.read(rig.journal))[Step.SEND]
        await rig.provider.clear_faults()
        code = await worker.ended(100.0)
        comparison = await rig.compare()
    most = _SLOTS * (int(seconds / _RETRY_AFTER_SECONDS) + 2)
    return Result(
        comparison=comparison,
        note=f"{calls} calls during the storm",
        complaints=expectations(
            (code == 0, f"the worker ended with {code}"),
            (comparison.delivered == number, "not everything was delivered after the storm"),
            (calls <= most, f"{calls} calls were made although the provider had asked for patience"),
        ),
    )


async def _first_call(path: Path) -> None:
    async with asyncio.timeout(30.0):
        while not any(entry.step is Step.SEND for entry in journal.read(path)):
            await asyncio.sleep(0.05)


async def provider_down(world: World) -> Result:
    """Minutes in life, seconds here: every wait of ours is shortened alike."""
    number, seconds = world.sized(300, 60), 8.0 if not world.short else 2.0
    async with world.sqlite("down") as plain:
        rig = plain.having(retry__max_attempts="12", breaker__recovery_seconds="0.5")
        job = rig.job(
            packages=rig.packages(number) + rig.packages(number // 5, "email"),
            until=Until.QUIET,
            at_once=4,
            pause_seconds=0.02,
            limit_seconds=120.0,
        )
        worker = rig.processes.job(job)
        await under_way(rig)
        await rig.provider.stop()
        await asyncio.sleep(seconds)
        await rig.provider.__aenter__()
        code = await worker.ended(130.0)
        comparison = await rig.compare(Cause.PROVIDER)
    return Result(
        comparison=comparison,
        note=f"down for {seconds:.0f} s, all waits shortened",
        complaints=expectations(
            (code == 0, f"the worker ended with {code}"),
            (comparison.accepted == number + number // 5, "not everything was accepted in the end"),
            (comparison.delivered + comparison.held == comparison.accepted, "some deliveries have no outcome"),
        ),
    )


SCENARIOS: Final = [
    Scenario(name="throttle-storm", what="429 to every call for a while", run=throttle_storm),
    Scenario(name="provider-down", what="the provider is down for a while", run=provider_down),
]
