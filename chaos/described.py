"""The machine, the versions and the commit that figures were made with."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from pathlib import Path

from tests.services.postgres import find_programs


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return ", ".join(
        [
            f"{os.cpu_count()} cores",
            f"{memory:.0f} GB",
            f"{platform.system()} {platform.release().split('-')[0]}",
            f"Python {platform.python_version()}",
            f"SQLite {sqlite3.sqlite_version}",
            _version([str(find_programs() / "postgres"), "--version"], 2, "PostgreSQL"),
            _version([shutil.which("redis-server") or "redis-server", "--version"], 2, "Redis"),
        ]
    )


def _version(command: list[str], place: int, name: str) -> str:
    try:
        words = _said(command).split()
        return f"{name} {words[place].removeprefix('v=')}"
    except (OSError, subprocess.SubprocessError, IndexError):
        return f"no {name}"


def commit() -> str:
    """The tree these processes are of, and whether it was changed since."""
    try:
        git = ["git", "-C", str(Path(__file__).parents[1])]
        name = _said([*git, "rev-parse", "--short", "HEAD"]).strip()
        changed = _said([*git, "status", "--porcelain", "--untracked-files=no", "--", "src", "chaos"]).strip()
    except (OSError, subprocess.SubprocessError):
        return "no commit"
    return f"commit {name}" + (" and changes" if changed else "")


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
