"""One household per module with an empty inbox for each test, or a database alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.inbox.api import Api, running_api
from tests.opened_database import KINDS, opened_database

from postroom.kernel.database.engine import Database


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared_api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    async with running_api(tmp_path_factory.mktemp("home")) as api:
        yield api


@pytest.fixture
def api(shared_api: Api) -> Api:
    shared_api.forget()
    return shared_api


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield database
