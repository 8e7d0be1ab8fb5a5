"""Every butler tells the switchboard that it is alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog

from postroom.domain.clock import Clock
from postroom.domain.errors import PostroomError
from postroom.domain.peer import Peer
from postroom.domain.time import seconds
from postroom.system.loop import Loops

INTERVAL_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 2.0
_TIMEOUT_SECONDS: Final = 5.0


@asynccontextmanager
async def heartbeats(
    switchboard: Peer, *, butler: str, description: str, modules: Sequence[str], clock: Clock, loops: Loops
) -> AsyncIterator[None]:
    """The first one at once; while the switchboard is away, again and again until it is back."""
    tried = asyncio.Event()

    async def beat() -> bool:
        try:
            body = {"description": description, "modules": list(modules)}
            answer = await switchboard.call("register", body, _TIMEOUT_SECONDS)
            return answer.get("status") == "ok"
        except PostroomError as error:
            structlog.get_logger("postroom.butler").warning(
                "heartbeat.failed", butler=butler, error_class=str(error.error_class)
            )
            return False

    async def look() -> int:
        try:
            beaten = await beat()
        finally:
            tried.set()
        return clock.now_us() + seconds(INTERVAL_SECONDS if beaten else _RETRY_SECONDS)

    async with loops.running(f"heartbeat:{butler}", look):
        await tried.wait()
        yield
