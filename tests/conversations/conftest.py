"""A room of a test's own, for those of this folder that ask what becomes of one person's words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.conversations.room import Room, room_of
from tests.opened_database import opened_file


@pytest.fixture
async def room(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Room]:
    async with opened_file(tmp_path) as database:
        yield await room_of(database, clock)
