from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.server import Fakes
from tests.sandbox.client import Client, Start, starting
from tests.sandbox.hand_clock import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def start(clock: HandClock) -> AsyncIterator[Start]:
    async with starting(Fakes, clock) as start_one:
        yield start_one


@pytest.fixture
async def client(start: Start) -> Client:
    return await start()
