"""The Redis that several processes share, when the settings name one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from postroom.kernel.running.process import SecretUrl
from postroom.kernel.values.errors import SettingsError

if TYPE_CHECKING:
    from redis.asyncio import Redis

KEY_PREFIX: Final = "postroom"


@asynccontextmanager
async def redis_client(url: SecretUrl) -> AsyncIterator[Redis]:
    """The driver is an extra that a household without Redis does without."""
    try:
        from postroom.kernel.database.redis_script import connect
    except ImportError:
        raise SettingsError("redis_url: Redis needs the extra: pip install 'postroom[redis]'.") from None
    client = connect(url.reveal())
    try:
        yield client
    finally:
        await client.aclose()
