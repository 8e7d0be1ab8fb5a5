"""`postroom up` as a real process: where its parts are, and how to talk to them."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from pathlib import Path
from typing import Any

import aiohttp

from chaos import household_process
from chaos.processes import Child
from chaos.rig import Rig

_PARTS = "messenger,switchboard,general,health,api"
_START_SECONDS = 40.0
_REVISION = "2026-07-28"
_META = "io.modelcontextprotocol/"
_numbers = itertools.count(1)


class Household:
    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._log = rig.directory / f"household-{next(_numbers)}.log"
        self._home = Path(rig.environment["POSTROOM_HOME"])
        ports = {f"POSTROOM_PORTS__{part.upper()}": "0" for part in _PARTS.split(",")}
        environment = {**rig.environment, **ports, "POSTROOM_TELEMETRY__LOG_LEVEL": "ERROR"}
        self.child: Child = rig.processes.start(
            household_process.main, environment, ["up", "--only", _PARTS], self._log
        )

    async def up(self) -> None:
        async with asyncio.timeout(_START_SECONDS):
            while "Ctrl-C stops." not in self.said():
                if not self.child.alive:
                    raise RuntimeError(f"the household did not start: {self.said()[-2_000:]}")
                await asyncio.sleep(0.02)

    def said(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def url(self, part: str) -> str:
        found = re.search(rf"^  {part} +(http\S+)$", self.said(), re.MULTILINE)
        assert found is not None
        return found[1]

    def token(self, butler: str) -> str:
        token: str = json.loads((self._home / "tokens.json").read_text())["butlers"][butler]
        return token


async def call_notify(
    session: aiohttp.ClientSession, url: str, token: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    """One self-contained request, so that a caller can hang up at any byte of it."""
    meta = {
        f"{_META}protocolVersion": _REVISION,
        f"{_META}clientInfo": {"name": "chaos", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    params = {"name": "notify", "arguments": arguments, "_meta": meta}
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "notify",
    }
    body = {"jsonrpc": "2.0", "id": next(_numbers), "method": "tools/call", "params": params}
    async with session.post(url, json=body, headers=headers) as response:
        answer: dict[str, Any] = (await response.json())["result"]["structuredContent"]
        return answer
