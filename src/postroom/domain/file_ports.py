"""What taking files over needs from the world, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from postroom.domain.attachment import Attachment
from postroom.domain.file_contents import FileContents
from postroom.domain.upload import Upload


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Bytes that lie beside the others and are no file of ours yet."""

    path: Path
    sha256: str
    size: int


class FileStore(FileContents, Protocol):
    """Bytes under their own hash."""

    async def draft(self, source: BinaryIO, look: Callable[[bytes], None]) -> Draft:
        """A copy, every byte of which `look` has seen; what it raises leaves nothing behind."""
        ...

    async def keep(self, draft: Draft) -> None:
        """On disk for good when this returns."""
        ...

    async def discard(self, draft: Draft) -> None: ...

    async def holds(self, attachment: Attachment) -> bool:
        """Raises StoreUnavailable when it cannot be known now."""
        ...


class OutboxFile(Protocol):
    """An open file that has been looked at; whatever stands at its path later, this one is read."""

    @property
    def size(self) -> int: ...

    @property
    def source(self) -> BinaryIO: ...

    def unchanged(self) -> bool:
        """Whether it is still as large and as old as when it was opened."""
        ...


class OpenOutbox(Protocol):
    def __call__(self, folder: Path, parts: Sequence[str]) -> AbstractContextManager[OutboxFile]:
        """Raises OutboxRefusal."""
        ...


class OutboxRefusal(Exception):
    """Why a path below an outbox is not opened; the words are for the caller."""

    def __init__(self, error: str, code: str) -> None:
        super().__init__(error)
        self.error = error
        self.code = code


class UploadRecord(Protocol):
    async def add(self, uploads: Sequence[Upload], *, most_bytes: int, since_us: int) -> Sequence[Upload]:
        """
        As they are stored: under a key that was used before, the upload that is there.

        Raises OverloadRejected when the owner has handed in more than `most_bytes` since then.
        """
        ...

    async def find(self, ids: Sequence[str]) -> Sequence[Upload]: ...

    async def claim(self, ids: Sequence[str], owner: str, used_by: str, now_us: int) -> bool:
        """For one delivery: all of them or none. One that another delivery has, or that is too old, cannot be had."""
        ...
