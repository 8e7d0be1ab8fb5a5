"""An agent's process: many callers of the product's own client, each asks again under its key after an error."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    url: str
    token: str
    questions: dict[str, str]  # by their keys


Asks = Callable[[Task, str], Awaitable[str]]  # under a key; returns what the person said


async def run(asks: Asks) -> None:
    """Its first line of input is the task, the second one says go; what it prints is a line for each question."""
    task = Task(**json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    sys.stdin.readline()
    await asyncio.gather(*(caller(asks, task, key) for key in task.questions))


async def caller(asks: Asks, task: Task, key: str) -> None:
    errors = list[str]()
    while True:
        try:
            value = await asks(task, key)
        except Exception as error:  # whatever a caller has to handle is counted
            errors.append(type(error).__name__)
            await _until_there(task.url)
        else:
            print(json.dumps({"key": key, "value": value, "errors": errors}), flush=True)
            return


async def _until_there(url: str) -> None:
    there = urlsplit(url)
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            _, writer = await asyncio.open_connection(there.hostname, there.port)
        except OSError:
            continue
        writer.close()
        return
