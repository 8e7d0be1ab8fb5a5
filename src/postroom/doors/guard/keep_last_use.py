"""Write now and then which tokens were used, while the household runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from postroom.domain.settings_error import SettingsError
from postroom.domain.time import seconds
from postroom.doors.guard.last_use import WRITE_SECONDS
from postroom.doors.guard.tokens import TokenFile
from postroom.system.loop import Loops


@asynccontextmanager
async def keeping_last_use(tokens: TokenFile, loops: Loops) -> AsyncIterator[None]:
    """Once more at the end, so that nothing is forgotten by stopping; an old time is no reason to fail there."""

    async def write() -> None:
        await asyncio.to_thread(tokens.write_last_use, tokens.last_use.take())

    async def look() -> int:
        await write()
        return loops.clock.now_us() + seconds(WRITE_SECONDS)

    async with loops.running("last_use", look):
        yield
    with suppress(OSError, SettingsError):
        await write()
