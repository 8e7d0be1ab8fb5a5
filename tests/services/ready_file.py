"""A migrated SQLite file without a row in it, made once and copied for every test."""

from __future__ import annotations

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from postroom.kernel.database.sqlite import SqliteDatabase


def ready_file(path: Path) -> Path:
    """The same path, with a database there; one that is there already stays as it is."""
    if not path.exists():
        path.write_bytes(_content())
        path.chmod(0o600)
    return path


@cache
def _content() -> bytes:
    """In a thread, because the caller's thread may have an event loop of its own."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=1) as pool:
        path = Path(folder) / "postroom.db"
        pool.submit(asyncio.run, _migrate(path)).result()
        return path.read_bytes()


async def _migrate(path: Path) -> None:
    database = SqliteDatabase(path)
    await database.migrate()
    await database.close()
