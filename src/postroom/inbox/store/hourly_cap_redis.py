"""The hourly cap on Redis: a sliding log of the last hour, one atomic step for each question."""

from __future__ import annotations

from redis.asyncio import Redis, RedisCluster

from postroom.inbox.store.notes import HOUR_US
from postroom.kernel.database.redis_script import RedisAway, RedisReach, RedisScript
from postroom.kernel.running.clock import Clock


class RedisHourlyCap:
    """
    Refuses without a look at the database, for all processes alike.

    While Redis is away, or has forgotten everything, it lets everybody pass: the
    rows are counted again when the notification is written.
    """

    def __init__(
        self,
        client: Redis | RedisCluster,
        prefix: str,
        clock: Clock,
        hourly_cap: int,
        *,
        reach: RedisReach | None = None,
    ) -> None:
        self.reach = reach or RedisReach(client, clock)
        self._script = RedisScript(client, "hourly_cap", self.reach)
        self._keys = f"{{{prefix}}}:inbox:cap:"
        self._hourly_cap = hourly_cap

    @property
    def away(self) -> bool:
        return self.reach.away

    async def take(self, user_id: str, notification_id: str, now_us: int) -> bool:
        arguments = ("take", notification_id, now_us, HOUR_US, self._hourly_cap)
        try:
            (taken,) = await self._script.run([self._keys + user_id], arguments)
        except RedisAway:
            return True
        return bool(taken)

    async def give_back(self, user_id: str, notification_id: str) -> None:
        try:
            await self._script.run([self._keys + user_id], ("give_back", notification_id))
        except RedisAway:
            return  # it leaves the log by itself within the hour
