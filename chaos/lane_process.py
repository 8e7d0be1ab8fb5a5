"""One lane: a process that runs the scenarios it is handed one after the other, each on data of its own."""

from __future__ import annotations

import asyncio
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from chaos.entry import Entry
from chaos.processes import Processes
from chaos.scenario import NotPermitted, Scenario, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """Which scenario, and how; it goes from one process to another."""

    scenario: Scenario
    postgres_url: str
    seed: int
    short: bool
    limit_seconds: float


def run(ticket: Ticket) -> Entry:
    """Whatever it started and left behind is ended with it."""
    processes = Processes()
    try:
        return asyncio.run(_bounded(ticket, processes))
    finally:
        processes.close()


async def _bounded(ticket: Ticket, processes: Processes) -> Entry:
    world = World(processes=processes, postgres_url=ticket.postgres_url, seed=ticket.seed, short=ticket.short)
    result, error, not_run, started = None, "", "", time.monotonic()
    try:
        async with asyncio.timeout(ticket.limit_seconds):
            result = await ticket.scenario.run(world)
    except NotPermitted as reason:
        not_run = str(reason)
    except Exception as reason:  # one broken scenario must not hide the others
        error = "; ".join(told(reason))
    seconds = time.monotonic() - started
    return Entry(scenario=ticket.scenario, result=result, seconds=seconds, error=error, not_run=not_run)


def told(error: BaseException) -> list[str]:
    """Each error of a group by itself, with the last line of ours that it passed."""
    if isinstance(error, BaseExceptionGroup):
        return [sentence for one in error.exceptions for sentence in told(one)]
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "chaos" in Path(frame.filename).parts]
    return [f"{error!r}" + "".join(f" at {Path(frame.filename).name}:{frame.lineno}" for frame in ours[-1:])]
