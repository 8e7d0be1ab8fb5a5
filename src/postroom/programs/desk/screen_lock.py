"""Whose turn it is on this screen: the newest popup's, whichever server opened it."""

from __future__ import annotations

from pathlib import Path


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
