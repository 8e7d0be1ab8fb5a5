"""One household for the tests of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.doors.asks.askers import Askers, askers


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Askers]:
    async with askers(tmp_path_factory.mktemp("home")) as opened:
        yield opened
