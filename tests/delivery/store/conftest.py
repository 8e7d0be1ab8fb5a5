"""The ledger on SQLite and on PostgreSQL; a Redis for the limits and circuits, and a clock that the test turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis
from tests.delivery.stored import Store
from tests.opened_database import ledger_of
from tests.patience import PATIENCE_SECONDS
from tests.support.redis_server import any_redis
from tests.support.turned_clock import TurnedClock

from postroom.kernel.database import redis_script
from postroom.kernel.database.engine import Database
from postroom.kernel.database.redis_script import connect


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database, ledger_of(database))


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """Waited for long: a busy machine is not a server that is away."""
    with any_redis() as url, pytest.MonkeyPatch.context() as patience:
        patience.setattr(redis_script, "TIMEOUT_SECONDS", PATIENCE_SECONDS)
        yield url


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    client = connect(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()
