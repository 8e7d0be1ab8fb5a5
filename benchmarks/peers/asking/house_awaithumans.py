"""awaithumans: its production server, an operator who signs in as in its dashboard, mail to the common mail server."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

from benchmarks.peers.asking.house import LOOK_SECONDS, House, called, question
from benchmarks.peers.asking.place import Place
from benchmarks.peers.asking.server import Server

_EMAIL, _PASSWORD = "owner@sandbox.example", "a-long-enough-password"
_DAY_SECONDS = 86_400
_ANSWER = {"ship": {"title": "Ship", "type": "string"}}
_SCHEMA = {"title": "Decision", "type": "object", "properties": _ANSWER, "required": ["ship"]}


class AwaithumansHouse(House):
    agent_module = "benchmarks.peers.asking.agent_awaithumans"

    def __init__(self, place: Place) -> None:
        self._environment = _environment(place)
        super().__init__(place)
        self.token = self._environment["AWAITHUMANS_ADMIN_API_TOKEN"]

    def build_server(self) -> Server:
        command = [*self._command, "serve", "--host", "127.0.0.1", "--port", str(self.place.port)]
        return Server(
            command=[*command, "--log-level", "error"],
            environment=self._environment,
            folder=self.place.folder,
            health=f"{self.place.url}/api/health",
        )

    async def sign_in(self) -> None:
        await self._make_operator()
        self.agent, self.person = self.session(Authorization=f"Bearer {self.token}"), self.session()
        await called(self.person, "POST", "/api/auth/login", {"email": _EMAIL, "password": _PASSWORD})

    async def ask(self, key: str, *, mail: bool = False) -> str:
        _, asked = await called(self.agent, "POST", "/api/tasks", _body(key, mail))
        return str(asked["id"])

    async def wait(self, ask_id: str) -> str | None:
        _, found = await called(self.agent, "GET", f"/api/tasks/{ask_id}/poll?timeout={LOOK_SECONDS}")
        return str(found["response"]["ship"]) if found["status"] == "completed" else None

    async def answer(self, ask_id: str, value: str) -> bool:
        path = f"/api/tasks/{ask_id}/complete"
        status, _ = await called(self.person, "POST", path, {"response": {"ship": value}}, besides=(409,))
        return status != 409

    def agent_python(self) -> str:
        return self.place.peers

    async def _make_operator(self) -> None:
        command = [*self._command, "bootstrap-operator", "--email", _EMAIL, "--password", _PASSWORD]
        environment = {**os.environ, **self._environment}
        child = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            cwd=self.place.folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await child.wait()

    @property
    def _command(self) -> list[str]:
        return [str(Path(self.place.peers).absolute().parent / "awaithumans")]


def _body(key: str, mail: bool) -> dict[str, object]:
    """As its own client puts it, without a form: both ends are programs here."""
    return {
        "task": question(key),
        "payload": {"key": key},
        "payload_schema": {"type": "object"},
        "response_schema": _SCHEMA,
        "timeout_seconds": _DAY_SECONDS,
        "idempotency_key": key,
        "notify": [f"email:{_EMAIL}"] if mail else None,
    }


def _environment(place: Place) -> dict[str, str]:
    database = {"DATABASE_URL": place.database} if place.database else {"DB_PATH": str(place.folder / "tasks.db")}
    settings = {
        **database,
        "ENVIRONMENT": "production",
        "ALLOW_EPHEMERAL_DB": "true",
        "PAYLOAD_KEY": secrets.token_urlsafe(32),
        "ADMIN_API_TOKEN": secrets.token_urlsafe(32),
        "PUBLIC_URL": place.url,
        "EMAIL_TRANSPORT": "smtp",
        "EMAIL_FROM": "tasks@sandbox.example",
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(place.mail.smtp_port),
        "SMTP_START_TLS": "false",
    }
    return {f"AWAITHUMANS_{name}": value for name, value in settings.items()}
