"""What a command on this machine did, written down as the door that did it."""

from __future__ import annotations

from contextlib import suppress

from postroom.household.wiring.store import connect_store
from postroom.kernel.audit import NewAudit
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.database.schema import newest, revision
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import IdMint
from postroom.settings import Settings
from postroom.settings.listeners import sqlite_path


async def note_command(settings: Settings, new: NewAudit) -> None:
    """Nothing where there is no household yet; the act is done, whatever becomes of its note."""
    if settings.database.startswith("sqlite") and not sqlite_path(settings).exists():
        return
    store = connect_store(settings)
    try:
        with suppress(PostroomError):
            if await store.database.read(revision) == newest():
                await StoredAudit(store.database, IdMint().mint).add(new, SystemClock().now_us())
    finally:
        await store.database.close()
