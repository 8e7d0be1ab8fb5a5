"""What tests of questions begin with: a database, an office that asks, a household."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.opened_database import KINDS
from tests.questions.askers import Askers, askers
from tests.questions.asking_office import Office, opened_office


@pytest.fixture(params=KINDS)
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    async with opened_office(request.param, tmp_path, request) as one:
        yield one


@pytest.fixture
async def small(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    """On SQLite alone, for what does not depend on the database."""
    async with opened_office("sqlite", tmp_path, request) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Askers]:
    """One household for the tests of a module."""
    async with askers(tmp_path_factory.mktemp("home")) as opened:
        yield opened
