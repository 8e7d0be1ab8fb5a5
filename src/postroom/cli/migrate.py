"""`postroom migrate`: bring the database to the newest schema."""

from __future__ import annotations

import asyncio

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.progress import bar
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process


def migrate(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Bring the database to the newest schema; `up` does it by itself."""
    settings, _ = from_process({"home": home, "database_url": database})
    before, after = asyncio.run(_migrate(settings, quiet=json))
    if json:
        say_json({"before": before, "after": after})
    elif before == after:
        say(f"The database is at revision {after}: nothing to do.")
    else:
        say(f"The database went from revision {before or 'none'} to {after}.")


async def _migrate(settings: Settings, *, quiet: bool) -> tuple[str | None, str | None]:
    from postroom.app.store import connect_store

    store = connect_store(settings)
    try:
        with bar("Migrating", quiet=quiet) as show:
            return await store.database.migrate(show)
    finally:
        await store.database.close()
