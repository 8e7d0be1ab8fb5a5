"""Postroom: a household of its own process, mail to the common mail server, every limit out of the way."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from chaos.rig import QUICK

from benchmarks.peers.asking.house import LOOK_SECONDS, House, called, question
from benchmarks.peers.asking.place import Place
from benchmarks.peers.asking.server import Server

_PARTS = ("messenger", "switchboard", "general", "api")
_COMMAND = (sys.executable, "-m", "postroom")


class PostroomHouse(House):
    agent_module = "benchmarks.peers.asking.agent_postroom"

    def build_server(self) -> Server:
        command = [*_COMMAND, "up", "--only", ",".join(_PARTS)]
        health = f"{self.place.url}/health"
        return Server(command=command, environment=self._environment, folder=self.place.folder, health=health)

    async def sign_in(self) -> None:
        tokens = json.loads((self._home / "tokens.json").read_text())
        self.token = tokens["butlers"]["general"]
        made = await self._said("token", "create", "--person", "owner", "--json")
        self.agent = self.session(Authorization=f"Bearer {self.token}")
        self.person = self.session(Authorization=f"Bearer {json.loads(made)['token']}")

    async def ask(self, key: str, *, mail: bool = False) -> str:
        _, asked = await called(self.agent, "POST", "/v1/asks", body_of(key, mail=mail))
        return str(asked["ask_id"])

    async def wait(self, ask_id: str) -> str | None:
        _, found = await called(self.agent, "GET", f"/v1/asks/{ask_id}?wait_seconds={LOOK_SECONDS}")
        return None if found["status"] == "open" else str(found["answer"]["value"])

    async def answer(self, ask_id: str, value: str) -> bool:
        path = f"/v1/asks/{ask_id}/answer"
        status, _ = await called(self.person, "POST", path, {"value": value}, besides=(409,))
        return status != 409

    def agent_python(self) -> str:
        return sys.executable

    async def _said(self, *arguments: str) -> str:
        child = await asyncio.create_subprocess_exec(
            *_COMMAND, *arguments, env=self._environment, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await child.communicate()
        return said.decode()

    @property
    def _home(self) -> Path:
        return self.place.folder / "home"

    @property
    def _environment(self) -> dict[str, str]:
        return _environment(self.place, self._home)


def body_of(key: str, *, mail: bool) -> dict[str, object]:
    """Without mail it is shown in the console alone."""
    channels = ["email" if mail else "console"]
    return {"question": question(key), "options": ["yes", "no"], "channels": channels, "idempotency_key": key}


def _environment(place: Place, home: Path) -> dict[str, str]:
    ports = {f"POSTROOM_PORTS__{part.upper()}": "0" for part in _PARTS} | {
        "POSTROOM_PORTS__API": str(place.port),
        "POSTROOM_PORTS__SANDBOX": str(place.mail.bot_api_port),
        "POSTROOM_PORTS__SANDBOX_SMTP": str(place.mail.smtp_port),
        "POSTROOM_PORTS__SANDBOX_IMAP": str(place.mail.imap_port),
    }
    database = place.database or f"sqlite:///{place.folder / 'postroom.db'}"
    more = {"POSTROOM_HOME": str(home), "POSTROOM_DATABASE_URL": database, "POSTROOM_TELEMETRY__LOG_LEVEL": "ERROR"}
    return {**QUICK, **ports, **more}
