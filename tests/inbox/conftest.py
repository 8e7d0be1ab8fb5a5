"""One household per module with an empty inbox for each test, or a database alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.inbox.api import Api, running_api


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared_api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    async with running_api(tmp_path_factory.mktemp("home")) as api:
        yield api


@pytest.fixture
def api(shared_api: Api) -> Api:
    shared_api.forget()
    return shared_api
