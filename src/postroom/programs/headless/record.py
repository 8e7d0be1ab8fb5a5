"""What is known of a run, in files: a runner that was killed is started again and goes on where it was."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SESSION = "session"


class RunRecord:
    """
    `<home>/headless/<which run>`: the session, and what Claude Code printed, one file for each start.

    It prints into the file and not to us, so it does not notice when we die; and it holds our lock while it lives, so
    that the next runner waits for it.
    """

    def __init__(self, home: Path, folder: Path, words: Sequence[str], prompt: str) -> None:
        which = json.dumps([str(folder), list(words), prompt])
        digest = hashlib.sha256(which.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self._folder = home / "headless" / digest
        self._lock = home / "headless" / f"{digest}.lock"

    @contextmanager
    def alone(self, say: Callable[[str], None]) -> Iterator[int]:
        """The open file that holds the lock, for Claude Code to inherit."""
        self._lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor, say)
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def session(self) -> str:
        """Chosen once; Claude Code wants a UUID."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._folder / _SESSION
        if not file.exists():
            beside = file.with_suffix(".new")
            beside.write_text(str(uuid.uuid4()), encoding="utf-8")
            beside.replace(file)
        return file.read_text(encoding="utf-8")

    @property
    def starts(self) -> int:
        """How often Claude Code was started."""
        return len(list(self._folder.glob("*.out")))

    def output(self, start: int) -> Path:
        return self._folder / f"{start:04d}.out"

    def result(self, start: int) -> dict[str, Any] | None:
        """The last line that Claude Code printed when it ended of itself."""
        for line in reversed(self.output(start).read_text(encoding="utf-8", errors="replace").splitlines()):
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(said, dict) and said.get("type") == "result":
                return said
        return None

    def forget(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _lock(descriptor: int, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("The same is under way already; waiting for its end.")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
