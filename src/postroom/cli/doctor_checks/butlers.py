"""What butlers could not do because of what stands in the database."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from postroom.app.store import connect_store
from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.time import seconds
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.world.store.butlers import appointments, sessions
from postroom.world.store.engine.sole_worker import sqlite_path

_SECONDS: Final = 7 * 86_400
_MOST_NAMED: Final = 5
_ADVICE: Final = "order it again; a disk or a program that changes the database from outside may be the cause"


async def look_at_butlers(settings: Settings) -> list[Finding]:
    """Nothing to say where all can be read, or when the database is another finding's business."""
    if settings.database.startswith("sqlite") and not sqlite_path(settings).exists():
        return []
    since_us = SystemClock().now_us() - seconds(_SECONDS)

    def work(connection: Connection) -> list[str]:
        return [
            *appointments.appointments_set_aside(connection, since_us),
            *sessions.sessions_set_aside(connection, since_us),
        ]

    try:
        store = connect_store(settings)
        try:
            found = await store.database.read(work)
        finally:
            await store.database.close()
    except Exception:  # whatever a driver raises
        return []
    if not found:
        return []
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    named = ", ".join(found[:_MOST_NAMED])
    return [Finding("butlers", False, f"could not be read and was set aside: {named}{more}", _ADVICE)]
