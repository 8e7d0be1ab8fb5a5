"""A database of each kind for the switchboard's suites."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.store.database import Database
from tests.store.open_database import KINDS, opened


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    url = request.getfixturevalue("new_postgres_url") if request.param == "postgres" else None
    async with opened(request.param, tmp_path, url) as database:
        yield database
