"""Whether Redis answers: found out once, for everything that asks it."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from redis.asyncio import Redis, RedisCluster
from redis.exceptions import RedisClusterException, RedisError

from postroom.domain.clock import Clock
from postroom.domain.time import seconds

TIMEOUT_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 1.0
UNREACHABLE: Final = (RedisError, RedisClusterException, OSError)  # TimeoutError is an OSError
_PROBE: Final = "{postroom}:probe"

_log = structlog.get_logger(__name__)


class RedisReach:
    """
    A breaker around Redis: the first time-out opens it, and then nobody waits.

    After each pause one look is taken in the background, by a small write,
    because a server that only reads is of no use to anybody who asks here.
    """

    def __init__(self, client: Redis | RedisCluster, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._look_at_us = 0
        self._looking: asyncio.Task[None] | None = None
        self.away = False

    def answers(self) -> bool:
        """At once, from what is known."""
        if self.away and self._is_time_to_look():
            self._looking = asyncio.create_task(self.look())
        return not self.away

    async def look(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._client.set(_PROBE, 1, px=1000)
        except UNREACHABLE as error:
            self.lost(error)
        else:
            self.found()

    def lost(self, error: BaseException) -> None:
        self._look_at_us = self._clock.now_us() + seconds(PAUSE_SECONDS)
        if not self.away:
            self.away = True
            _log.warning("redis_away", error=type(error).__name__)

    def found(self) -> None:
        if self.away:
            self.away = False
            _log.info("redis_back")

    def _is_time_to_look(self) -> bool:
        """A clock that was set back does not prolong the pause."""
        if self._looking is not None and not self._looking.done():
            return False
        now, pause = self._clock.now_us(), seconds(PAUSE_SECONDS)
        return not now < self._look_at_us <= now + pause
