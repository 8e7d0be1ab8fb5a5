"""Where a scenario happens: a directory, a provider, a database and processes, all of its own."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.services import databases

from chaos import journal
from chaos.job import Job, Package
from chaos.ledger_compare import Cause, Comparison, compare
from chaos.ledger_rows import read_rows
from chaos.processes import Processes
from chaos.provider import Provider
from chaos.receiver import Receiver
from chaos.routes import ROUTES

_LIFTED = 50_000_000
_ADDRESSES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """`receiver` stands for the provider where messages go to a program of one's own, and no sandbox plays it."""

    directory: Path
    provider: Provider
    processes: Processes
    database_url: str
    dice: random.Random
    receiver: Receiver | None = None
    settings: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def journal(self) -> Path:
        return self.directory / "journal"

    @property
    def counts(self) -> Provider | Receiver:
        """Who knows what arrived."""
        return self.receiver or self.provider

    @property
    def environment(self) -> dict[str, str]:
        ports = {
            "POSTROOM_PORTS__SANDBOX": str(self.provider.bot_api_port),
            "POSTROOM_PORTS__SANDBOX_SMTP": str(self.provider.smtp_port),
            "POSTROOM_PORTS__SANDBOX_IMAP": str(self.provider.imap_port),
        }
        base = {"POSTROOM_HOME": str(self.directory / "home"), "POSTROOM_DATABASE_URL": self.database_url}
        return {**base, **QUICK, **ports, **self.settings}

    def having(self, **settings: str) -> Rig:
        """The same rig with other settings: `retry__max_attempts="9"`."""
        more = {f"POSTROOM_{name.upper()}": value for name, value in settings.items()}
        return replace(self, settings={**self.settings, **more})

    def packages(self, number: int, channel: str = "telegram", **details: Any) -> tuple[Package, ...]:
        return tuple(self.package(channel, **details) for _ in range(number))

    def package(self, channel: str = "telegram", **details: Any) -> Package:
        number = next(self.numbers)
        person = number % _ADDRESSES
        address = ROUTES[channel].address.format(person)
        return Package(token=f"m{number}", channel=channel, address=address, **details)

    def job(self, **details: Any) -> Job:
        return Job(environment=self.environment, journal=self.journal, log=self.directory / "processes.log", **details)

    def last_words(self) -> str:
        """Of the processes, for whoever must find out why one ended as it should not."""
        log = self.directory / "processes.log"
        return log.read_text(errors="replace")[-2_000:] if log.exists() else ""

    async def compare(self, *causes: Cause) -> Comparison:
        return compare(
            await read_rows(self.environment),
            await self.counts.received(),
            list(journal.read(self.journal)),
            frozenset(causes),
        )


QUICK = {
    "POSTROOM_LIMITS__GLOBAL_PER_MINUTE": str(_LIFTED),
    "POSTROOM_LIMITS__IN_FLIGHT": str(_LIFTED),
    "POSTROOM_LIMITS__RECIPIENT_PER_MINUTE": str(_LIFTED),
    "POSTROOM_LIMITS__CHANNELS": json.dumps({f"{name}.bot": _LIFTED for name in ROUTES}),
    "POSTROOM_DELIVERY__TELEGRAM_CHAT_INTERVAL_SECONDS": "0",
    "POSTROOM_DELIVERY__LEASE_SECONDS": "2",
    "POSTROOM_DELIVERY__SWEEP_SECONDS": "0.5",
    "POSTROOM_TIMEOUTS__TELEGRAM_SECONDS": "2",
    "POSTROOM_TIMEOUTS__EMAIL_SECONDS": "2",
    "POSTROOM_RETRY__BASE_SECONDS": "0.05",
    "POSTROOM_RETRY__MAX_SECONDS": "0.5",
    "POSTROOM_BREAKER__RECOVERY_SECONDS": "0.3",
    "POSTROOM_SANDBOX": "true",
}


@asynccontextmanager
async def rig(processes: Processes, postgres_url: str | None, seed: str) -> AsyncIterator[Rig]:
    """On PostgreSQL when a server is given, else on SQLite."""
    with (
        tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as name,
        _database(Path(name), postgres_url) as url,
    ):
        async with Provider(Path(name)) as provider:
            yield Rig(
                directory=Path(name), provider=provider, processes=processes, database_url=url, dice=random.Random(seed)
            )


@contextmanager
def _database(directory: Path, postgres_url: str | None) -> Iterator[str]:
    if postgres_url is None:
        yield f"sqlite:///{directory / 'postroom.db'}"
        return
    with databases.temporary(postgres_url) as url:
        yield url
