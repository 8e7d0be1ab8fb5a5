"""The Redis that several processes share, when the settings name one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from postroom.system.settings import Settings, SettingsError

if TYPE_CHECKING:
    from redis.asyncio import Redis

KEY_PREFIX: Final = "postroom"


@asynccontextmanager
async def redis_client(settings: Settings) -> AsyncIterator[Redis]:
    """The driver is an extra that a household without Redis does without."""
    try:
        from postroom.world.store.shared.redis_script import connect
    except ImportError:
        raise SettingsError("redis_url: Redis needs the extra: pip install 'postroom[redis]'.") from None
    client = connect(settings.redis_url.reveal())
    try:
        yield client
    finally:
        await client.aclose()
