"""An office that works on intents, on each kind of database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.intents.office import Office, opened_office
from tests.opened_database import KINDS


@pytest.fixture(params=KINDS)
async def office(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Office]:
    async with opened_office(request.param, tmp_path, request, clock) as opened:
        yield opened
