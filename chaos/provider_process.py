"""The sandbox and the fake services; their clock can be set: `python -m chaos.provider_process CLOCK_FILE …`."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from tests.fakes.server import Fakes

from chaos.offset_clock import OffsetClock
from postroom.kernel.values.ids import seconds
from postroom.sandbox.__main__ import read_options, ready_line
from postroom.sandbox.server import SandboxOptions


class FileClock(OffsetClock):
    """As far ahead as the file says."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def now_us(self) -> int:
        self.offset_us = seconds(float(self._file.read_text() or 0)) if self._file.exists() else 0
        return super().now_us()


async def run(options: SandboxOptions, clock: FileClock) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Fakes(options, clock) as sandbox:
        print(ready_line(sandbox), flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(run(read_options(sys.argv[2:]), FileClock(Path(sys.argv[1]))))
