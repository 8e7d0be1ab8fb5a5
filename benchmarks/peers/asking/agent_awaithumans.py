"""An agent that asks with `await_human`, in the environment of the peers."""

from __future__ import annotations

import asyncio

from awaithumans import await_human
from pydantic import BaseModel

from benchmarks.peers.asking.agent import Task, run

_DAY_SECONDS = 86_400


class Subject(BaseModel):
    key: str


class Decision(BaseModel):
    ship: str


async def asks(task: Task, key: str) -> str:
    decision = await await_human(
        task=task.questions[key],
        payload_schema=Subject,
        payload=Subject(key=key),
        response_schema=Decision,
        timeout_seconds=_DAY_SECONDS,
        notify=["email:owner@sandbox.example"],
        idempotency_key=key,
        server_url=task.url,
        api_key=task.token,
    )
    return decision.ship


if __name__ == "__main__":
    asyncio.run(run(asks))
