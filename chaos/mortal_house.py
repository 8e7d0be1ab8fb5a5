"""A household that dies where it is told to, and is started again on the same data and the same ports."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.services.ports import free_port

from chaos import mortal_process
from chaos.crash_points import CrashPlan
from chaos.mortal_process import HouseJob
from chaos.processes import Child, Overdue
from chaos.rig import Rig
from chaos.scenario import LEASES_OVER_SECONDS
from chaos.talks import model_program

_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.02
_READY: Final = "Ctrl-C stops."


class MortalHouse:
    """Each process begins later than the one before it ended, by its own clock, so that every lease has run out."""

    def __init__(self, rig: Rig, parts: Sequence[str]) -> None:
        self._rig = rig
        self._parts = parts
        ports = {f"POSTROOM_PORTS__{part.upper()}": str(free_port()) for part in parts}
        self.environment = {
            **rig.environment,
            **ports,
            "POSTROOM_TELEMETRY__LOG_LEVEL": "ERROR",
            "PATH": f"{_installed(rig.directory / 'programs')}:{os.environ['PATH']}",
        }
        self._offset_seconds = 0.0
        self._child: Child | None = None
        self._plan: CrashPlan | None = None
        self.kills = 0
        self.starts = 0

    async def start(self, plan: CrashPlan | None = None) -> None:
        self.starts += 1
        self._plan = plan
        self._offset_seconds += LEASES_OVER_SECONDS
        self._rig.provider.set_clock(self._offset_seconds)
        job = HouseJob(
            environment=self.environment,
            arguments=["up", "--only", ",".join(self._parts)],
            log=self._log,
            crash=plan,
            clock_offset_seconds=self._offset_seconds,
        )
        self._child = self._rig.processes.start(mortal_process.main, job)
        async with asyncio.timeout(_START_SECONDS):
            while _READY not in self.said() and self._child.alive:
                await asyncio.sleep(_LOOK_SECONDS)
        if not self._child.alive and self._child.exit_code != -signal.SIGKILL:
            raise RuntimeError(f"the household did not start: {self.said()[-2_000:]}")

    async def died(self) -> None:
        assert self._child is not None
        try:
            code = await self._child.ended(_END_SECONDS)
        except Overdue:
            raise RuntimeError(f"it did not die at {self._plan}\n{self.said()[-2_000:]}") from None
        if code != -signal.SIGKILL:
            raise RuntimeError(f"it ended with {code}, not at {self._plan}\n{self.said()[-2_000:]}")
        self.kills += 1

    async def kill(self) -> None:
        assert self._child is not None
        self._child.kill()
        await self.died()

    def end(self) -> None:
        if self._child is not None:
            self._child.end()

    def said(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def _log(self) -> Path:
        return self._rig.directory / f"mortal-{self.starts}.log"


def _installed(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / "claude"
    program.write_text(f"#!{sys.executable} -IS\n{Path(model_program.__file__).read_text()}")
    program.chmod(0o755)
    return folder
