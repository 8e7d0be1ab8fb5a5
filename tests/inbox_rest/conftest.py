from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.inbox_rest.api import Api, running_api


@pytest.fixture
async def api(home: Path) -> AsyncIterator[Api]:
    async with running_api(home) as api:
        yield api
