"""The bare driver that deliveries are measured against writes what ours write."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.raw import raw_per_second


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_it_writes_deliveries_as_the_program_does(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path / 'raw.db'}" if kind == "sqlite" else request.getfixturevalue("postgres_url")

    assert await raw_per_second(url, count=100) > 0
