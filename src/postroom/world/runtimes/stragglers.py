"""The processes of a session, wherever they have gone."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from postroom.domain.runtime import SESSION_VARIABLE

_PROCESSES: Final = Path("/proc")
_PASSES: Final = 20


def kill_stragglers(session_id: str) -> int:
    """
    Ends every process that still carries the session in its environment.

    A process can leave its group, and after a crash of the household nobody
    remembers the group; the environment it was started with stays. Where the
    system does not show environments, nothing is found. Returns how many.
    """
    ended: set[int] = set()
    for _ in range(_PASSES):
        found = [pid for pid in _carrying(session_id) if pid != os.getpid()]
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
    return len(ended)


def _carrying(session_id: str) -> Iterator[int]:
    mark = f"{SESSION_VARIABLE}={session_id}".encode()
    for folder in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
