"""A product's server as a process of its own, which can be killed at any moment and started on the same data."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_LOOK_SECONDS = 0.02


@dataclass(slots=True, kw_only=True)
class Server:
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    health: str
    _process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        self._process = self._started()
        await self._until_up()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    async def kill(self) -> None:
        """SIGKILL, with every process that it started."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, how)
        try:
            await asyncio.to_thread(self._process.wait, _STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            await asyncio.to_thread(self._process.wait, _STOP_SECONDS)
        self._process = None

    async def _until_up(self) -> None:
        async with asyncio.timeout(_START_SECONDS), aiohttp.ClientSession() as session:
            while not await self._is_up(session):
                if self._process is None or self._process.poll() is not None:
                    raise RuntimeError(f"it did not start: {self.last_words()}")
                await asyncio.sleep(_LOOK_SECONDS)

    async def _is_up(self, session: aiohttp.ClientSession) -> bool:
        try:
            async with session.get(self.health) as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    def last_words(self) -> str:
        return self._log.read_text(errors="replace")[-2_000:] if self._log.exists() else ""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def _log(self) -> Path:
        return self.folder / "server.log"
