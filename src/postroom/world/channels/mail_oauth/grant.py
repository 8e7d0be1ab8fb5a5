"""Access to a mailbox as a provider granted it, sealed in a file of the household's home."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag

from postroom.system.seal import Seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """With the client it was granted to, so that it can be renewed without any setting."""

    client_id: str
    client_secret: str = field(default="", repr=False)
    refresh_token: str = field(repr=False)
    access_token: str = field(default="", repr=False)
    expires_at: float = 0.0
    """By the clock of this machine, in seconds since 1970."""


class GrantFile:
    """Only its owner may read it, and what it holds opens with the household's key alone."""

    def __init__(self, home: Path, account: str, key: bytes) -> None:
        self.path = home / "mail-oauth" / f"{account}.sealed"
        self._about = f"mail-oauth:{account}"
        self._seal = Seal(key)

    def read(self) -> Grant | None:
        """None when there is none, or when it was sealed with another key."""
        try:
            return Grant(**json.loads(self._seal.unseal(self.path.read_text("ascii"), self._about)))
        except (FileNotFoundError, InvalidTag, ValueError, TypeError):
            return None

    def write(self, grant: Grant) -> None:
        """As a whole or not at all: a token that was renewed may be the only one that is still good."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(self._seal.seal(json.dumps(asdict(grant)), self._about))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        finally:
            new.unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Several processes send: one of them renews, and the others find it done."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.path.with_suffix(".lock"), "w", opener=_private) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
