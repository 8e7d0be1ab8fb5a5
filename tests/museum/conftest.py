"""One household for each room of the museum; a room that needs other settings names them in `SETTINGS`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.museum.house import House, open_house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    settings = getattr(request.module, "SETTINGS", {})
    async with open_house(tmp_path_factory.mktemp("home"), settings) as opened:
        yield opened
