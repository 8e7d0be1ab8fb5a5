from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.fakes.server import Fakes, serve
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
async def sandbox() -> AsyncIterator[Fakes]:
    """Every service that can be played here, on one port."""
    async with asyncio.timeout(PATIENCE_SECONDS), serve() as one:
        yield one
