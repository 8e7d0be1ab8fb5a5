"""Households that several files of this folder look at; a file with a household of its own says so itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.household.living import ASKING, LIFTED, QUICK, Living, living


@pytest.fixture(params=["sqlite", "postgres"])
def database_of(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the settings say of it."""
    return {"database_url": request.getfixturevalue("postgres_url")} if request.param == "postgres" else {}


@pytest.fixture
async def house(home: Path, database_of: dict[str, Any]) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK, database_of) as one:
        yield one


@pytest.fixture
async def approving_house(home: Path, database_of: dict[str, Any]) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK, ASKING, database_of) as one:
        yield one


@pytest.fixture
async def small(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK) as one:
        yield one


@pytest.fixture
async def approving(home: Path) -> AsyncIterator[Living]:
    """Small, too, and asks before it writes to strangers."""
    async with living(home, LIFTED, QUICK, ASKING) as one:
        yield one
