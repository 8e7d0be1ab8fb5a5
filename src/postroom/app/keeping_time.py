"""Machines that share a database go by its clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog

from postroom.app.store import OpenedStore, open_store
from postroom.domain.time import SECOND_US, seconds
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.system.shared_clock import SharedClock
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.server_time import server_time_us

LOOK_SECONDS: Final = 10.0
_log = structlog.get_logger("postroom.clock")


@asynccontextmanager
async def open_in_time(settings: Settings, clock: SharedClock, loops: Loops) -> AsyncIterator[OpenedStore]:
    async with open_store(settings) as store, keeping_time(settings, store.database, clock, loops):
        yield store


@asynccontextmanager
async def keeping_time(settings: Settings, database: Database, clock: SharedClock, loops: Loops) -> AsyncIterator[None]:
    """From the first lease on, and again now and then; a database of one machine has no clock of its own."""
    if settings.database.startswith("sqlite"):
        yield
        return

    async def look() -> int:
        asked_us = clock.now_us()
        theirs_us = await database.read(server_time_us)
        off_us = clock.follow(theirs_us, asked_us=asked_us, heard_us=clock.now_us())
        if off_us:
            _log.warning("clock.differs", seconds=round(off_us / SECOND_US, 1), goes_by="the database")
        return clock.now_us() + seconds(LOOK_SECONDS)

    await look()
    async with loops.running("clock", look):
        yield
