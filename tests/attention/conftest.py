"""A delivery plane that knows an owner and Ann, for whatever attention does on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.attention.attended import introduced
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, generous, living_world


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        await introduced(world.database)
        yield world
