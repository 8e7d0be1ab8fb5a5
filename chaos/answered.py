"""Wait until every message of a scenario has been answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from chaos import journal
from chaos.job import Package
from chaos.journal import Step
from chaos.rig import Rig

_LOOK_SECONDS = 0.1


def answered(rig: Rig) -> set[str]:
    """Stored: a refused message will be handed in again."""
    entries = journal.read(rig.journal)
    return {entry.token for entry in entries if entry.step is Step.ANSWER and entry.detail == "stored"}


async def all_answered(rig: Rig, packages: Iterable[Package], seconds: float) -> None:
    wanted = {package.token for package in packages}
    async with asyncio.timeout(seconds):
        while wanted - answered(rig):
            await asyncio.sleep(_LOOK_SECONDS)


async def under_way(rig: Rig, seconds: float = 30.0) -> None:
    """Until the first messages have been answered."""
    async with asyncio.timeout(seconds):
        while not answered(rig):
            await asyncio.sleep(_LOOK_SECONDS)
