"""Small files that hold the household's state: replaced as a whole, and changed by one process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A hook starts before every step of a coding agent, and has 0.15 s: nothing that is imported here may take its time.


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """All of it or nothing, with this mode from the first byte on: not even for a moment can others read a secret."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """One process changes the file at a time, so that none takes back what another has just made."""
    import fcntl  # which Windows does not have

    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
