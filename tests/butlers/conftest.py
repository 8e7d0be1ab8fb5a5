"""A database of each kind for the butlers' suites."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database

from postroom.kernel.database.engine import Database


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield database
