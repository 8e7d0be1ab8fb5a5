"""The messenger's tests run on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.butlers.messenger.house import settings_for

from postroom.settings import Settings


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def settings(home: Path, database_url: str) -> Settings:
    return settings_for(home, database_url)
