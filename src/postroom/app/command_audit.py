"""What a command on this machine did, written down as the door that did it."""

from __future__ import annotations

from contextlib import suppress

from postroom.app.store import connect_store
from postroom.domain.audit import NewAudit
from postroom.domain.errors import PostroomError
from postroom.domain.ids import IdMint
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.world.store.engine.migrate import newest, revision
from postroom.world.store.engine.sole_worker import sqlite_path
from postroom.world.store.shared.audit import StoredAudit


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
