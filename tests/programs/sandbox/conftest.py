from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from tests.programs.sandbox.client import Client
from tests.programs.sandbox.hand_clock import HandClock

from postroom.programs.sandbox.server import Sandbox, SandboxOptions

Start = Callable[..., Awaitable[Client]]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def start(clock: HandClock) -> AsyncIterator[Start]:
    """Starts sandboxes that end with the test."""
    opened: list[Client] = []

    async def start_one(**options: Any) -> Client:
        sandbox = Sandbox(SandboxOptions(**options), clock)
        await sandbox.start()
        timeout = aiohttp.ClientTimeout(total=20)
        client = Client(sandbox, aiohttp.ClientSession(sandbox.bot_api_url, timeout=timeout))
        opened.append(client)
        return client

    yield start_one
    for client in opened:
        await client.http.close()
        await client.sandbox.stop()


@pytest.fixture
async def client(start: Start) -> Client:
    return await start()
