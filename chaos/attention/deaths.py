"""A script, and as many processes as it takes: each begins where the one before it died, later than every lease."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import dataclass
from typing import Final

from chaos import journal
from chaos.attention import keeper_process
from chaos.attention.acts import Act
from chaos.attention.keeper_process import KeeperJob
from chaos.journal import Step
from chaos.processes import Child
from chaos.rig import Rig
from chaos.scenario import LEASES_OVER_SECONDS

_SECONDS: Final = 150.0
_LOOK_SECONDS: Final = 0.01
_SOON_SECONDS: Final = 0.4
ANN: Final = json.dumps([{"name": "Ann", "telegram_chat_id": "2000", "email": "ann@example.org", "trusted": True}])


@dataclass(frozen=True, slots=True, kw_only=True)
class Deaths:
    """`offset_seconds`: how far ahead the clock of the last process was."""

    kills: int
    offset_seconds: float


async def played(rig: Rig, acts: list[Act], kills_at_random: int = 0) -> Deaths:
    """To the end of the script; at first some are killed from outside after a moment, if asked for."""
    place = rig.having(contacts=ANN)
    kills = 0
    while True:
        job = _job(place, acts, kills)
        child = place.processes.start(keeper_process.main, job)
        if kills < kills_at_random:
            await _kill_soon(place, child, kills)
        code = await child.ended(_SECONDS)
        if code == 0:
            return Deaths(kills=kills, offset_seconds=job.clock_offset_seconds + _ahead(rig, job))
        if code != -signal.SIGKILL:
            raise RuntimeError(f"a process ended with {code}\n{rig.last_words()}")
        kills += 1


async def _kill_soon(rig: Rig, child: Child, deaths: int) -> None:
    """A moment after it is up; every one comes at least so far, as none is killed before."""
    while child.alive and sum(one.step is Step.UP for one in journal.read(rig.journal)) <= deaths:
        await asyncio.sleep(_LOOK_SECONDS)
    await asyncio.sleep(rig.dice.uniform(0.0, _SOON_SECONDS))
    child.kill()


def _job(rig: Rig, acts: list[Act], kills: int) -> KeeperJob:
    entries = list(journal.read(rig.journal))
    done = max((int(one.token) for one in entries if one.step is Step.ACTED), default=0)
    offset = next((float(one.detail) for one in reversed(entries) if one.step is Step.CLOCK), 0.0)
    offset += LEASES_OVER_SECONDS if kills else 0.0
    journal.Journal(rig.journal).note(Step.CLOCK, "-", str(offset))
    return KeeperJob(
        environment=rig.environment,
        journal=rig.journal,
        log=rig.directory / "processes.log",
        acts=tuple(acts),
        first=done,
        notices={one.token: one.detail for one in entries if one.step is Step.ANSWER},
        clock_offset_seconds=offset,
    )


def _ahead(rig: Rig, job: KeeperJob) -> float:
    last = [float(one.detail) for one in journal.read(rig.journal) if one.step is Step.CLOCK][-1]
    return last - job.clock_offset_seconds
