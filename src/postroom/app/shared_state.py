"""Limits and circuits: in this process, or on Redis for all of them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from postroom.app.policy import breaker_policy
from postroom.domain.clock import Clock
from postroom.domain.seams import Breakers, Limits, Pace
from postroom.system.settings import Settings
from postroom.world.store.shared.breakers_memory import MemoryBreakers
from postroom.world.store.shared.limits_memory import MemoryLimits
from postroom.world.store.shared.redis_client import KEY_PREFIX, redis_client


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedState:
    limits: Limits
    pace: Pace
    breakers: Breakers


@asynccontextmanager
async def shared_state(settings: Settings, clock: Clock) -> AsyncIterator[SharedState]:
    policy = breaker_policy(settings)
    if not settings.redis_url:
        limits = MemoryLimits(clock)
        yield SharedState(limits=limits, pace=limits, breakers=MemoryBreakers(policy, clock, _token))
        return
    async with redis_client(settings.redis_url) as client:
        from postroom.world.store.shared.breakers_redis import RedisBreakers
        from postroom.world.store.shared.limits_redis import RedisLimits
        from postroom.world.store.shared.redis_reach import RedisReach

        reach = RedisReach(client, clock)
        shared = RedisLimits(client, KEY_PREFIX, clock, reach=reach)
        breakers = RedisBreakers(client, KEY_PREFIX, policy, clock, _token, reach=reach)
        yield SharedState(limits=shared, pace=shared, breakers=breakers)


def _token() -> str:
    return secrets.token_hex(8)
