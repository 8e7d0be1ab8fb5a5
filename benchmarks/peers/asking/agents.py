"""The agent's process, from the outside."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.asking.house import House, question

_ROOT = Path(__file__).parents[3]
_READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a caller got in the end, and the errors it had to handle before."""

    key: str
    value: str
    errors: list[str]


@dataclass(slots=True)
class Agent:
    process: asyncio.subprocess.Process
    returned: dict[str, Returned] = field(default_factory=dict)

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")

    async def read(self) -> None:
        """Until every caller has returned."""
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            one = Returned(**json.loads(line))
            self.returned[one.key] = one


@asynccontextmanager
async def new_agent(house: House, keys: Sequence[str]) -> AsyncIterator[Agent]:
    """It waits for `go`, so that no start of a process is in between."""
    path = f"{_ROOT / 'src'}{os.pathsep}{_ROOT}" if house.agent_python() != house.place.peers else str(_ROOT)
    process = await asyncio.create_subprocess_exec(
        house.agent_python(),
        "-m",
        house.agent_module,
        env={**os.environ, "PYTHONPATH": path},
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _prepare(process, house, keys)
        yield Agent(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _prepare(process: asyncio.subprocess.Process, house: House, keys: Sequence[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    task = {"url": house.place.url, "token": house.token, "questions": {key: question(key) for key in keys}}
    process.stdin.write(json.dumps(task).encode() + b"\n")
    async with asyncio.timeout(_READY_SECONDS):
        if await process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the agent of {house.agent_module} did not start")
