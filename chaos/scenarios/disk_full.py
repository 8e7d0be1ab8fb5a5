"""The disk under the SQLite file is full, and later has room again."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from chaos import journal
from chaos.answered import all_answered
from chaos.job import Until
from chaos.journal import Step
from chaos.ledger_compare import Cause
from chaos.rig import Rig
from chaos.scenario import Result, Scenario, World, expectations, left_alone, stop_orderly

_DISK_BYTES: Final = 24 * 2**20
_FILE_LIMIT_BYTES: Final = 600_000


async def file_limit(world: World) -> Result:
    """Works without root: the process may not write beyond a size; the next one may."""
    async with world.sqlite("file limit") as rig:
        await left_alone(rig, rig.job())
        packages = rig.packages(world.sized(600, 300))
        job = rig.job(
            packages=packages, until=Until.TOLD, file_size_limit_bytes=_FILE_LIMIT_BYTES, persistent=False, at_once=4
        )
        worker = rig.processes.job(job)
        await _refused(rig)
        ends = await stop_orderly(rig, [worker])
        await left_alone(rig, rig.job(packages=packages))
        return await _result(rig, len(packages), ends)


async def full_disk(world: World) -> Result:
    async with world.sqlite("full disk") as plain:
        disk = plain.directory / "disk"
        disk.mkdir()
        with _small_disk(disk) as mounted:
            if not mounted:
                return await file_limit(world)
            rig = plain.having(database_url=f"sqlite:///{disk / 'postroom.db'}")
            return await _fill_and_free(rig, disk, world.sized(600, 150))


async def _fill_and_free(rig: Rig, disk: Path, number: int) -> Result:
    packages = rig.packages(number)
    await left_alone(rig, rig.job())
    ballast = disk / "ballast"
    ballast.write_bytes(b"x" * (_free_bytes(disk) - 1_000_000))
    worker = rig.processes.job(rig.job(packages=packages, until=Until.TOLD, at_once=4))
    await _refused(rig)
    ballast.unlink()
    await all_answered(rig, packages, seconds=30.0)
    ends = await stop_orderly(rig, [worker])
    await left_alone(rig, rig.job())
    return await _result(rig, number, ends)


async def _result(rig: Rig, number: int, ends: tuple[str, ...]) -> Result:
    comparison = await rig.compare(Cause.STORE, Cause.PROCESS)
    refused = sum(entry.step is Step.ANSWER and entry.detail == "refused" for entry in journal.read(rig.journal))
    return Result(
        comparison=comparison,
        note=f"{refused} times refused",
        complaints=(
            *ends,
            *expectations(
                (refused > 0, "nothing was refused: the disk was not full"),
                (comparison.delivered == number, "not everything was delivered once there was room"),
            ),
        ),
    )


async def _refused(rig: Rig) -> None:
    async with asyncio.timeout(60.0):
        while not any(one.step is Step.ANSWER and one.detail == "refused" for one in journal.read(rig.journal)):
            await asyncio.sleep(0.05)


def _free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


@contextmanager
def _small_disk(directory: Path) -> Iterator[bool]:
    """Needs root, and not every container lets root do it."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(directory)]
    mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(directory)], capture_output=True, check=False)


SCENARIOS: Final = [
    Scenario(name="file-limit", what="SQLite file not allowed to grow", run=file_limit),
    Scenario(name="disk-full", what="disk full under SQLite, then room again", run=full_disk),
]
