"""Look into the ledger: of a running household, or from outside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from postroom.app.policy import retry_policy
from postroom.app.store import connect_store
from postroom.domain.ports import Clock
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings, SettingsError
from postroom.work.delivery.history import Explained, Reason, traced
from postroom.work.inbox.why import why_note
from postroom.world.store.deliveries.history import StoredHistory
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.migrate import known_revision


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """Raises SettingsError when nothing is known under an id."""

    settings: Settings
    database: Database
    clock: Clock

    async def trace(self, identifier: str, origin: str | None = None) -> dict[str, Any]:
        return await self.database.read(lambda connection: traced(StoredHistory(connection), identifier, origin))

    async def why(self, identifier: str, origin: str | None = None) -> list[Reason]:
        now_us, email_enabled = self.clock.now_us(), self.settings.inbox.email_enabled
        explained = Explained(
            attempts_for=retry_policy(self.settings).attempts_for,
            why_note=lambda note: why_note(*note, email_enabled=email_enabled, now_us=now_us),
            now_us=now_us,
        )
        return await self.database.read(
            lambda connection: explained.reasons(StoredHistory(connection), identifier, origin)
        )


@asynccontextmanager
async def ledger_view(settings: Settings) -> AsyncIterator[LedgerView]:
    """Without a running household."""
    store = connect_store(settings)
    try:
        if await store.database.read(known_revision) is None:
            raise SettingsError("This database is empty: no household has worked on it yet (postroom up).")
        yield LedgerView(settings=settings, database=store.database, clock=SystemClock())
    finally:
        await store.database.close()
