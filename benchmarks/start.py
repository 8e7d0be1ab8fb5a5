"""How long a household takes from its start to its first delivery, and what it costs while nothing happens."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import aiohttp
import uvloop
from tests.services.ports import free_port

from benchmarks.page import made, verdict, write_part
from benchmarks.peers.asking.server import Server
from postroom.settings.model import Ports

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SETTLE_SECONDS = float(os.environ.get("SETTLE", "20"))
IDLE_SECONDS = float(os.environ.get("IDLE", "30"))
START_TARGET, MEMORY_TARGET, CPU_TARGET = 2.5, 150.0, 0.01
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Home:
    """
    All parts of a household as `postroom up` starts them, in a folder that is empty at first.

    `bytecode` is what Python has compiled, whatever its environment says: installed, a household is compiled already.
    """

    def __init__(self, folder: Path, bytecode: Path) -> None:
        self._folder, self._api = folder, free_port()
        python = {"PYTHONPYCACHEPREFIX": str(bytecode), "PYTHONDONTWRITEBYTECODE": ""}
        ports = {f"POSTROOM_PORTS__{name.upper()}": "0" for name in Ports.model_fields}
        ports["POSTROOM_PORTS__API"] = str(self._api)
        self.url = f"http://127.0.0.1:{self._api}"
        self.server = Server(
            command=(sys.executable, "-m", "postroom", "up"),
            environment={**python, **ports, "POSTROOM_HOME": str(folder / "home")},
            folder=folder,
            health=f"{self.url}/health",
        )

    async def first_delivery(self) -> float:
        began = time.perf_counter()
        await self.server.start()
        tokens = json.loads((self._folder / "home" / "tokens.json").read_text())
        headers = {"Authorization": f"Bearer {tokens['butlers']['general']}"}
        body = {"message": "Hello", "channel": "telegram", "wait_seconds": 10}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.post(f"{self.url}/v1/notify", json=body) as answer,
        ):
            said = await answer.json()
        if said.get("status") != "ok":
            raise RuntimeError(f"it was not delivered: {said}")
        return time.perf_counter() - began

    async def idle(self) -> tuple[float, float]:
        """Megabytes that are resident, and the share of a core, once it has settled."""
        await asyncio.sleep(SETTLE_SECONDS)
        before = self._cpu_seconds()
        await asyncio.sleep(IDLE_SECONDS)
        return self._megabytes(), (self._cpu_seconds() - before) / IDLE_SECONDS

    def _cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def _megabytes(self) -> float:
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000


async def measure(folder: Path) -> tuple[float, list[float], float, float]:
    for name in ("compiling", "measured"):
        (folder / name).mkdir()
    compiling = Home(folder / "compiling", folder / "bytecode")
    await compiling.first_delivery()
    await compiling.server.stop()
    home = Home(folder / "measured", folder / "bytecode")
    first, again = await home.first_delivery(), []
    for _ in range(ROUNDS):
        await home.server.stop()
        again.append(await home.first_delivery())
    megabytes, cpu = await home.idle()
    await home.server.stop()
    return first, again, megabytes, cpu


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="postroom-bench-") as folder:
        first, again, megabytes, cpu = uvloop.run(measure(Path(folder)))
    took, over = statistics.median(again), f"{IDLE_SECONDS:.0f} s"
    lines = [
        f"| start → first delivery, in an empty home | {first:.2f} s | |",
        f"| start → first delivery | {took:.2f} s | 2.5 s, {verdict(took <= START_TARGET)} |",
        f"| memory while idle | {megabytes:.0f} MB | 150 MB, {verdict(megabytes <= MEMORY_TARGET)} |",
        f"| processor while idle, over {over} | {cpu:.2%} of a core | 1 %, {verdict(cpu < CPU_TARGET)} |",
    ]
    how = f"{ROUNDS} starts of `postroom up` with all its parts, SQLite and the sandbox, medians"
    write_part("start", [made(how), "", "| what | seen | target |", "|---|--:|--:|", *lines])


if __name__ == "__main__":
    main()
