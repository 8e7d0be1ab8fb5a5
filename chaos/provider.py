"""The sandbox and the fake services in a process of their own: it outlives our crashes and counts what it received."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import aiohttp

from chaos.tokens import Copies, count

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_PAGE = 10_000
_TEXTS = {"telegram": "text", "email": "body", "slack": "text", "discord": "text", "ntfy": "text"}


class Provider:
    def __init__(self, directory: Path, host: str = "127.0.0.1") -> None:
        self.host = host
        self._ledger = directory / "provider.db"
        self._clock = directory / "provider.clock"
        self._process: subprocess.Popen[bytes] | None = None
        self._session: aiohttp.ClientSession | None = None
        self.bot_api_port = 0
        self.smtp_port = 0
        self.imap_port = 0

    async def __aenter__(self) -> Self:
        command = [
            sys.executable,
            "-m",
            "chaos.provider_process",
            str(self._clock),
            "--bot-api-port",
            str(self.bot_api_port),
        ]
        command += ["--smtp-port", str(self.smtp_port), "--imap-port", str(self.imap_port)]
        command += ["--ledger", str(self._ledger), "--host", self.host]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        async with asyncio.timeout(_START_SECONDS):
            ready = json.loads(await asyncio.to_thread(self._process.stdout.readline))
        self.bot_api_port, self.smtp_port = ready["bot_api_port"], ready["smtp_port"]
        self.imap_port = ready["imap_port"]
        self._session = aiohttp.ClientSession(f"http://{self.host}:{self.bot_api_port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """As when a provider goes down; entering again starts it on the same ports with the same ledger."""
        if self._session is not None:
            await self._session.close()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(_STOP_SECONDS)
            self._process = None

    async def arm(self, channel: str, *, times: int = 1, **fault: Any) -> None:
        await self.call("POST", "/sandbox/faults", {"channel": channel, "times": times, **fault})

    async def clear_faults(self) -> None:
        await self.call("DELETE", "/sandbox/faults")

    async def received(self) -> Copies:
        """Every copy of every part that arrived, whatever the channel."""
        return count([one[text] for channel, text in _TEXTS.items() for one in await self.listed(channel)])

    def set_clock(self, offset_seconds: float) -> None:
        """Time has passed for the provider, too."""
        self._clock.write_text(str(offset_seconds))

    async def listed(self, channel: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        since = 0
        while True:
            answer = await self.call("GET", f"/sandbox/{channel}/messages?since={since}&limit={_PAGE}")
            found += answer["messages"]
            if len(answer["messages"]) < _PAGE:
                return found
            since = answer["messages"][-1]["message_id" if channel == "telegram" else "id"]

    async def call(self, verb: str, path: str, body: object = None) -> dict[str, Any]:
        assert self._session is not None
        async with self._session.request(verb, path, json=body) as response:
            response.raise_for_status()
            answer: dict[str, Any] = await response.json()
            return answer
