"""What is known of a butler may be a moment old, but never older than what was just changed here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from tests.clock import FakeClock
from tests.services.ready_file import ready_file

from postroom.domain.registry import Registration
from postroom.world.store.butlers.registry import StoredRegistry
from postroom.world.store.butlers.registry_cache import CachedRegistry
from postroom.world.store.engine.sqlite import SqliteDatabase

Result = TypeVar("Result")


HEALTH = Registration(name="health", endpoint_url="", description="", modules=(), last_seen_at_us=1)


class SlowDatabase(SqliteDatabase):
    """Begins to write when it is let, and tells what it has read when it may."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.let, self.may_tell = asyncio.Event(), asyncio.Event()
        self.let.set()
        self.may_tell.set()
        self.reads = 0
        self.has_read = asyncio.Event()

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        self.reads += 1
        result = await super().read(work)
        self.has_read.set()
        await self.may_tell.wait()
        return result

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        await self.let.wait()
        return await super().write(work)


async def test_whoever_asks_while_a_quarantine_is_written_does_not_undo_it(tmp_path: Path, clock: FakeClock) -> None:
    database = SlowDatabase(ready_file(tmp_path / "postroom.db"))
    try:
        registry = CachedRegistry(StoredRegistry(database), clock)
        await registry.register(HEALTH)

        database.let.clear()
        writing = asyncio.create_task(registry.quarantine("health", "it misbehaved"))
        await asyncio.sleep(0)
        assert await registry.find("health") == HEALTH
        database.let.set()
        assert await writing

        found = await registry.find("health")
        assert found is not None
        assert found.quarantine_reason == "it misbehaved"
    finally:
        await database.close()


async def test_a_crowd_that_finds_it_too_old_looks_once(tmp_path: Path, clock: FakeClock) -> None:
    database = SlowDatabase(ready_file(tmp_path / "postroom.db"))
    try:
        registry = CachedRegistry(StoredRegistry(database), clock)
        await registry.register(HEALTH)

        database.may_tell.clear()
        crowd = [asyncio.create_task(registry.find("health")) for _ in range(20)]
        await database.has_read.wait()
        crowd.pop(0).cancel()  # the one who began to look takes nobody along
        database.may_tell.set()

        assert await asyncio.gather(*crowd) == [HEALTH] * 19
        assert database.reads == 1
    finally:
        await database.close()


async def test_a_look_that_began_before_a_change_does_not_undo_it(tmp_path: Path, clock: FakeClock) -> None:
    database = SlowDatabase(ready_file(tmp_path / "postroom.db"))
    try:
        registry = CachedRegistry(StoredRegistry(database), clock)
        await registry.register(HEALTH)

        database.may_tell.clear()
        before = asyncio.create_task(registry.find("health"))
        await database.has_read.wait()
        await registry.quarantine("health", "it misbehaved")
        database.may_tell.set()
        await before

        found = await registry.find("health")
        assert found is not None
        assert found.quarantine_reason == "it misbehaved"
    finally:
        await database.close()
