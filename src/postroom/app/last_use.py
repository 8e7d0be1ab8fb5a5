"""Write now and then which tokens were used, while the household runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from postroom.domain.time import seconds
from postroom.guard.last_use import WRITE_SECONDS
from postroom.guard.tokens import TokenFile
from postroom.ports import Clock
from postroom.settings import SettingsError

_log = structlog.get_logger("postroom.tokens")


@asynccontextmanager
async def keeping_last_use(tokens: TokenFile, clock: Clock) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    writing = asyncio.create_task(_write_until(stopping, tokens, clock))
    try:
        yield
    finally:
        stopping.set()
        await writing


async def _write_until(stopping: asyncio.Event, tokens: TokenFile, clock: Clock) -> None:
    """Once more at the end, so that nothing is forgotten by stopping."""
    stop = False
    while not stop:
        stop = await clock.wait(stopping, clock.now_us() + seconds(WRITE_SECONDS))
        try:
            await asyncio.to_thread(tokens.write_last_use, tokens.last_use.take())
        except (OSError, SettingsError) as error:  # a list with an old time is no reason to stop anything
            _log.warning("last_use.not_written", error=type(error).__name__)
