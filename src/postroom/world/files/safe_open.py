"""Open a file below an outbox folder so that no link, swap or special file leads anywhere else."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from postroom.domain.file_ports import OutboxFile, OutboxRefusal

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    source: BinaryIO
    seen: os.stat_result

    @property
    def size(self) -> int:
        return self.seen.st_size

    def unchanged(self) -> bool:
        return _marks(os.fstat(self.source.fileno())) == _marks(self.seen)


@contextmanager
def opened_below(folder: Path, parts: Sequence[str]) -> Iterator[OutboxFile]:
    """
    Raises OutboxRefusal.

    Each name is looked up in the folder that was opened before it, never again from the top, and none may be a link;
    so whatever is moved meanwhile, what is read lies below the outbox.
    """
    descriptor, owner = _walked(folder, parts)
    try:
        seen = os.fstat(descriptor)
        _check(seen, owner)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb", buffering=0) as source:
        yield OpenedFile(source=source, seen=seen)


def _walked(folder: Path, parts: Sequence[str]) -> tuple[int, int]:
    """The file, and who owns the outbox."""
    if any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts) or not parts:
        raise OutboxRefusal("is not below an outbox folder of yours", "outside_outbox")
    here = _opened(str(folder), _FOLDER, None, "is below an outbox folder that cannot be opened", "outbox_unavailable")
    try:
        owner = os.fstat(here).st_uid
        for part in parts[:-1]:
            inner = _opened(part, _FOLDER, here)
            os.close(here)
            here = inner
        return _opened(parts[-1], _FILE, here), owner
    finally:
        os.close(here)


def _opened(name: str, flags: int, below: int | None, failed: str = "", code: str = "") -> int:
    try:
        return os.open(name, flags, dir_fd=below)
    except OSError as error:
        if failed:
            raise OutboxRefusal(failed, code) from None
        raise _refusal(error.errno, name, below) from None


def _refusal(number: int | None, name: str, below: int | None) -> OutboxRefusal:
    if number == errno.ENOENT:
        return OutboxRefusal("is not there", "not_found")
    if number == errno.ELOOP or (number == errno.ENOTDIR and _is_link(name, below)):
        return OutboxRefusal("is a link, or lies behind one", "link")
    if number in (errno.ENOTDIR, errno.ENXIO, errno.ENODEV):
        return OutboxRefusal("is not a regular file", "not_a_file")
    if number in (errno.EACCES, errno.EPERM):
        return OutboxRefusal("cannot be read by this household", "unreadable")
    return OutboxRefusal("cannot be opened", "unreadable")


def _is_link(name: str, below: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=below, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _check(seen: os.stat_result, owner: int) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise OutboxRefusal("is not a regular file", "not_a_file")
    if seen.st_nlink != 1:
        raise OutboxRefusal("has more than one name (a hard link)", "several_names")
    if seen.st_uid not in (os.geteuid(), owner):
        raise OutboxRefusal("belongs to another user", "foreign_owner")


def _marks(seen: os.stat_result) -> tuple[int, ...]:
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_nlink
