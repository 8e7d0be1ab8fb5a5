"""Many tasks of one more process, all asking the same limits at once: prints how many were admitted."""

from __future__ import annotations

import asyncio
import sys

from tests.support.turned_clock import TurnedClock

from postroom.delivery.rules.limits import Admission, LimitType, Tier
from postroom.delivery.store.limits_redis import RedisLimits
from postroom.kernel.database.redis_script import connect

TASKS = 32
CALLS_PER_TASK = 20


async def hammer(url: str, prefix: str, name: str, per_minute: int, cost_millis: int, max_in_flight: int) -> int:
    client = connect(url)
    limits = RedisLimits(client, prefix, TurnedClock(), clock_from_redis=False)
    tiers = (Tier(LimitType.GLOBAL, "all", per_minute), Tier(LimitType.CHANNEL, "telegram.bot", 2 * per_minute))

    async def work(task: int) -> int:
        admitted = 0
        for call in range(CALLS_PER_TASK):
            admission = Admission(
                lease_id=f"{name}-{task}-{call}",
                channel="telegram",
                tiers=tiers,
                cost_millis=cost_millis,
                max_in_flight=max_in_flight,
            )
            admitted += (await limits.admit(admission)).admitted
        return admitted

    total = sum(await asyncio.gather(*(work(task) for task in range(TASKS))))
    if limits.away:
        raise SystemExit("redis was away: the count says nothing")
    await client.aclose()
    return total


if __name__ == "__main__":
    url, prefix, name, *numbers = sys.argv[1:]
    print(asyncio.run(hammer(url, prefix, name, *map(int, numbers))))
