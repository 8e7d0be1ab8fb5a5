"""Households that several files of this folder look at; a file with a household of its own says so itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.household.living import LIFTED, QUICK, Living, living


@pytest.fixture(params=["sqlite", "postgres"])
async def house(home: Path, request: pytest.FixtureRequest) -> AsyncIterator[Living]:
    more: dict[str, Any] = {}
    if request.param == "postgres":
        more["database_url"] = request.getfixturevalue("postgres_url")
    async with living(home, LIFTED, QUICK, more) as one:
        yield one


@pytest.fixture
async def small(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK) as one:
        yield one
