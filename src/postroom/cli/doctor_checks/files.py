"""The data directory: can we write there, and can nobody else read it?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from postroom.cli.doctor_checks.finding import Finding
from postroom.system.settings import Settings
from postroom.world.store.engine.sole_worker import sqlite_path


def look_at_files(settings: Settings) -> list[Finding]:
    return [_home(settings.home), *_private_files(settings)]


def _home(home: Path) -> Finding:
    if not home.exists():
        above = next(parent for parent in home.parents if parent.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            return Finding("home", False, f"{home} cannot be made in {above}", "choose another with --home")
        return Finding("home", True, f"{home} will be made by `postroom up`")
    if not home.is_dir():
        return Finding("home", False, f"{home} is not a directory", "choose another with --home")
    if not os.access(home, os.W_OK | os.X_OK):
        return Finding("home", False, f"{home} cannot be written to", f"chown it to user {os.getuid()}, or use --home")
    return Finding("home", True, str(home))


def _private_files(settings: Settings) -> Iterator[Finding]:
    """A directory that others may not enter protects what is in it; a file must not rely on that."""
    yield _private("tokens", settings.tokens_file, "none yet; `postroom up` makes them")
    secrets = settings.home / "secrets.toml"
    if secrets.exists():
        yield _private("secrets", secrets, "")
    if settings.database.startswith("sqlite") and (file := sqlite_path(settings)).exists():
        yield _private("database file", file, "")


def _private(subject: str, file: Path, if_missing: str) -> Finding:
    if not file.exists():
        return Finding(subject, True, if_missing)
    if not os.access(file, os.R_OK | os.W_OK):
        return Finding(subject, False, f"{file} cannot be read and written", f"chown it to user {os.getuid()}")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        return Finding(subject, False, f"{file} is open to others (mode {mode:04o})", f"chmod 600 {file}")
    return Finding(subject, True, f"{file}, readable by you alone")
