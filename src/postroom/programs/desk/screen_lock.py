"""Whose turn it is on this screen: the newest popup's, whichever server opened it."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

_SILENT_SECONDS: Final = 5.0  # a window keeps its turn alive every second


def take(file: Path, token: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_name(f"{file.name}.{token}")
    fresh.write_text(token, encoding="ascii")
    fresh.replace(file)


def is_over(file: Path, token: str) -> bool:
    """A turn ends only when someone else has taken it; a missing file means nobody has."""
    try:
        return file.read_text(encoding="ascii") != token
    except OSError:
        return False


def keep(file: Path, token: str) -> None:
    """Says that the window is still there."""
    if not is_over(file, token):
        with contextlib.suppress(OSError):
            os.utime(file)


def give_back(file: Path, token: str) -> None:
    if not is_over(file, token):
        with contextlib.suppress(OSError):
            os.utime(file, (0, 0))


def is_free(file: Path) -> bool:
    """No window is there, or the last one has not been heard of for a while."""
    try:
        return time.time() - file.stat().st_mtime > _SILENT_SECONDS
    except OSError:
        return True
