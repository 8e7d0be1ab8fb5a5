"""A household that runs only to be asked what it offers."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from postroom.household.console import RunningHousehold
from postroom.household.household import running
from postroom.household.store import parts_of
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings
from postroom.settings.model import Ports

PEOPLE = {
    "`--operator`": OPERATOR,
    "the owner": Principal(Role.PERSON, "owner"),
    "a person": Principal(Role.PERSON, "ada"),
    "a user": Principal(Role.USER, "ben"),
    "a program": Principal(Role.PROGRAM, "ci", person="ada"),
    "the butler itself": None,
    "switchboard": Principal(Role.BUTLER, "switchboard"),
    "any butler": Principal(Role.BUTLER, "stranger"),
    "a connector": Principal(Role.CONNECTOR, "chatgpt"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    household: RunningHousehold
    http: aiohttp.ClientSession
    tokens: TokenFile

    def url(self, part: str) -> str:
        return self.household.addresses[part].removesuffix("/mcp")

    def token(self, principal: Principal) -> str:
        return self.tokens.token_of(principal) or ""

    async def document(self, part: str) -> dict[str, Any]:
        async with self.http.get(f"{self.url(part)}/openapi.json") as response:
            found: dict[str, Any] = await response.json()
            return found


@asynccontextmanager
async def shown_household() -> AsyncIterator[Shown]:
    """Everything switched on, in the sandbox, on ports that the system chooses."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.model_validate(
            {
                "home": Path(home),
                "sandbox": True,
                "ports": dict.fromkeys(Ports.model_fields, 0),
                "approvals": {"enabled": True, "ask_owner": False},
            }
        )
        tokens = TokenFile(settings.tokens_file)
        async with running(settings, parts_of(settings)) as household, aiohttp.ClientSession() as http:
            tokens.ensure(principal for principal in PEOPLE.values() if principal is not None)
            yield Shown(household, http, tokens)
