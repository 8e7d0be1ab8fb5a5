"""The household's own key: made once, kept in its home, and never shown."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

_FILE: Final = "household.key"
_BYTES: Final = 32


def household_key(home: Path, purpose: str) -> bytes:
    """A key of 32 bytes for one purpose; what is known of one says nothing about another."""
    return hmac.new(_kept(home / _FILE), purpose.encode(), hashlib.sha256).digest()


def _kept(path: Path) -> bytes:
    """Several processes may start at once: the first one's key is everyone's."""
    with suppress(FileNotFoundError):
        return path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink()
    return path.read_bytes()
