"""When each token was last used: noted in memory, written beside the token file now and then."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from postroom.domain.time import to_text

WRITE_SECONDS: Final = 60.0


class LastUse:
    """A call only notes a number; what writes the file is a task of its own, in a thread."""

    def __init__(self, tokens_file: Path, now_us: Callable[[], int]) -> None:
        self._path = tokens_file.with_name("tokens-last-use.json")
        self._now_us = now_us
        self._noted: dict[str, int] = {}

    def note(self, token_id: str) -> None:
        self._noted[token_id] = self._now_us()

    def take(self) -> Mapping[str, int]:
        """What was noted since the last time."""
        noted, self._noted = self._noted, {}
        return noted

    def write(self, noted: Mapping[str, int], known: Collection[str]) -> None:
        """Several processes write the same file; the latest use counts, and revoked tokens are forgotten."""
        if not noted:
            return
        lock = os.open(self._path.with_name(f".{self._path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            times = self.read()
            for token_id, used_us in noted.items():
                times[token_id] = max(times.get(token_id, ""), to_text(used_us))
            self._replace({token_id: at for token_id, at in times.items() if token_id in known})
        finally:
            os.close(lock)

    def read(self) -> dict[str, str]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {token_id: at for token_id, at in found.items() if isinstance(at, str)}

    def _replace(self, times: Mapping[str, str]) -> None:
        beside = self._path.with_suffix(f".{secrets.token_hex(4)}")
        try:
            beside.touch(mode=0o600)
            beside.write_text(json.dumps(times, indent=2, sort_keys=True) + "\n", encoding="utf-8")
            beside.replace(self._path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
