from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.channels.email.token_server import TokenServer, token_server


@pytest.fixture
async def tokens() -> AsyncIterator[TokenServer]:
    async with token_server() as server:
        yield server
