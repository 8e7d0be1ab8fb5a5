"""What is known of a butler may be a moment old, but never older than what was just changed here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from tests.clock import FakeClock
from tests.services.ready_file import ready_file

from postroom.domain.ids import IdMint
from postroom.domain.registry import Registration
from postroom.world.store.butlers.registry import StoredRegistry
from postroom.world.store.butlers.registry_cache import CachedRegistry
from postroom.world.store.engine.sqlite import SqliteDatabase

Result = TypeVar("Result")


class SlowDatabase(SqliteDatabase):
    """Begins to write when it is let."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.let = asyncio.Event()
        self.let.set()

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        await self.let.wait()
        return await super().write(work)


async def test_whoever_asks_while_a_quarantine_is_written_does_not_undo_it(tmp_path: Path, clock: FakeClock) -> None:
    database = SlowDatabase(ready_file(tmp_path / "postroom.db"))
    try:
        registry = CachedRegistry(StoredRegistry(database, IdMint().mint), clock)
        health = Registration(name="health", endpoint_url="", description="", modules=(), last_seen_at_us=1)
        await registry.register(health)

        database.let.clear()
        writing = asyncio.create_task(registry.quarantine("health", "it misbehaved"))
        await asyncio.sleep(0)
        assert await registry.find("health") == health
        database.let.set()
        assert await writing

        found = await registry.find("health")
        assert found is not None
        assert found.quarantine_reason == "it misbehaved"
    finally:
        await database.close()
