"""Wait until every message of a scenario has been answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from chaos import journal
from chaos.errand import Parcel
from chaos.ground import Ground
from chaos.journal import Step

_LOOK_SECONDS = 0.1


def answered(ground: Ground) -> set[str]:
    """Stored: a refused message will be handed in again."""
    entries = journal.read(ground.journal)
    return {entry.token for entry in entries if entry.step is Step.ANSWER and entry.detail == "stored"}


async def all_answered(ground: Ground, parcels: Iterable[Parcel], seconds: float) -> None:
    wanted = {parcel.token for parcel in parcels}
    async with asyncio.timeout(seconds):
        while wanted - answered(ground):
            await asyncio.sleep(_LOOK_SECONDS)


async def under_way(ground: Ground, seconds: float = 30.0) -> None:
    """Until the first messages have been answered."""
    async with asyncio.timeout(seconds):
        while not answered(ground):
            await asyncio.sleep(_LOOK_SECONDS)
