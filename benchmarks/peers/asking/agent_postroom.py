"""An agent that asks with `HouseholdAsks`."""

from __future__ import annotations

import asyncio

from benchmarks.peers.asking.agent import Task, run
from benchmarks.peers.asking.house_postroom import body_of
from postroom.agents.asks import HouseholdAsks, to_ask


async def asks(task: Task, key: str) -> str:
    return str(await HouseholdAsks(url=task.url, token=task.token).answer(key, to_ask(body_of(key, mail=True))))


if __name__ == "__main__":
    asyncio.run(run(asks))
