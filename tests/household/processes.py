"""A household as real processes: all of it in one, or its parts apart."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from postroom.settings import Ports
from tests.services.ports import free_port
from tests.services.warm_process import WarmProcess

PARTS = tuple(Ports.model_fields)


def environment(home: Path, **more: str) -> dict[str, str]:
    """Free ports for every part, and nothing of this machine's own settings."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "BUTLER_"))}
    ports = {f"POSTROOM_PORTS__{part.upper()}": str(free_port()) for part in PARTS}
    return {**own, "POSTROOM_HOME": str(home), "PYTHONUNBUFFERED": "1", **ports, **more}


@contextmanager
def part(variables: Mapping[str, str], *only: str, seconds: float = 60) -> Iterator[WarmProcess]:
    """`postroom up --only …`, from the moment it says that it is up until it is told to stop."""
    with command(variables, "up", *(f"--only={name}" for name in only), seconds=seconds) as process:
        yield process


@contextmanager
def command(variables: Mapping[str, str], *words: str, seconds: float = 60) -> Iterator[WarmProcess]:
    process = WarmProcess(variables, *words)
    try:
        wait_for(process, "Postroom is up.")
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.close()


def wait_for(process: subprocess.Popen[str] | WarmProcess, text: str) -> str:
    """The line that says it."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError(f"the process ended without saying {text!r}:\n{''.join(seen)}")


async def received(variables: Mapping[str, str], channel: str = "telegram", most: int = 10_000) -> list[dict[str, Any]]:
    """What the sandbox's phone or mailbox holds: less than it could be asked for."""
    url = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox/{channel}/messages"
    async with aiohttp.ClientSession() as session, session.get(url, params={"limit": most}) as response:
        messages: list[dict[str, Any]] = (await response.json())["messages"]
    assert len(messages) < most
    return messages


async def texts(variables: Mapping[str, str]) -> list[str]:
    return [message["text"] for message in await received(variables)]


@contextmanager
def parts(variables: Mapping[str, str], groups: Sequence[Sequence[str]]) -> Iterator[list[WarmProcess]]:
    with ExitStack() as stack:
        yield [stack.enter_context(part(variables, *group)) for group in groups]
