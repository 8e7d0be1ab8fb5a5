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
from chaos.errand import Errand, Parcel
from chaos.ledger_compare import Cause, Comparison, compare
from chaos.ledger_rows import read_rows
from chaos.nursery import Nursery
from chaos.provider import Provider

_LIFTED = 50_000_000
_ADDRESSES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    directory: Path
    provider: Provider
    nursery: Nursery
    database_url: str
    dice: random.Random
    settings: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def journal(self) -> Path:
        return self.directory / "journal"

    @property
    def environment(self) -> dict[str, str]:
        ports = {
            "POSTROOM_PORTS__SANDBOX": str(self.provider.bot_api_port),
            "POSTROOM_PORTS__SANDBOX_SMTP": str(self.provider.smtp_port),
            "POSTROOM_PORTS__SANDBOX_IMAP": str(self.provider.imap_port),
        }
        base = {"POSTROOM_HOME": str(self.directory / "home"), "POSTROOM_DATABASE_URL": self.database_url}
        return {**base, **QUICK, **ports, **self.settings}

    def having(self, **settings: str) -> Ground:
        """The same ground with other settings: `retry__max_attempts="9"`."""
        more = {f"POSTROOM_{name.upper()}": value for name, value in settings.items()}
        return replace(self, settings={**self.settings, **more})

    def parcels(self, number: int, channel: str = "telegram", **details: Any) -> tuple[Parcel, ...]:
        return tuple(self.parcel(channel, **details) for _ in range(number))

    def parcel(self, channel: str = "telegram", **details: Any) -> Parcel:
        number = next(self.numbers)
        person = number % _ADDRESSES
        address = str(5_000 + person) if channel == "telegram" else f"person{person}@example.org"
        return Parcel(token=f"m{number}", channel=channel, address=address, **details)

    def errand(self, **details: Any) -> Errand:
        return Errand(
            environment=self.environment, journal=self.journal, log=self.directory / "processes.log", **details
        )

    def last_words(self) -> str:
        """Of the processes, for whoever must find out why one ended as it should not."""
        log = self.directory / "processes.log"
        return log.read_text(errors="replace")[-2_000:] if log.exists() else ""

    async def compare(self, *causes: Cause) -> Comparison:
        return compare(
            await read_rows(self.environment),
            await self.provider.received(),
            list(journal.read(self.journal)),
            frozenset(causes),
        )


QUICK = {
    "POSTROOM_LIMITS__GLOBAL_PER_MINUTE": str(_LIFTED),
    "POSTROOM_LIMITS__IN_FLIGHT": str(_LIFTED),
    "POSTROOM_LIMITS__RECIPIENT_PER_MINUTE": str(_LIFTED),
    "POSTROOM_LIMITS__CHANNELS": json.dumps({"telegram.bot": _LIFTED, "email.bot": _LIFTED}),
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
async def ground(nursery: Nursery, postgres_url: str | None, seed: str) -> AsyncIterator[Ground]:
    """On PostgreSQL when a server is given, else on SQLite."""
    with (
        tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as name,
        _database(Path(name), postgres_url) as url,
    ):
        async with Provider(Path(name)) as provider:
            yield Ground(
                directory=Path(name), provider=provider, nursery=nursery, database_url=url, dice=random.Random(seed)
            )


@contextmanager
def _database(directory: Path, postgres_url: str | None) -> Iterator[str]:
    if postgres_url is None:
        yield f"sqlite:///{directory / 'postroom.db'}"
        return
    with databases.temporary(postgres_url) as url:
        yield url
