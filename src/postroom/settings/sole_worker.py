"""One process at a time works on a SQLite file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from postroom.kernel.values.errors import UserError
from postroom.settings import Settings


class HomeInUse(UserError):
    """Another household works on the same data."""


def sqlite_path(settings: Settings) -> Path:
    """sqlite:///relative.db or sqlite:////absolute.db"""
    return Path(settings.database.removeprefix("sqlite:///")).expanduser()


@asynccontextmanager
async def sole_worker(settings: Settings) -> AsyncIterator[None]:
    """One process works on a SQLite file; whatever it finds in progress at start is then its own."""
    if not settings.database.startswith("sqlite"):
        yield
        return
    path = sqlite_path(settings)
    lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HomeInUse(
                f"Another household is already working on {path}; stop it or choose another home."
            ) from None
        yield
    finally:
        os.close(lock)
