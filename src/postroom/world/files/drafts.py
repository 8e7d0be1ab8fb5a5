"""Copies that are being made: beside the files, under a name that is nobody's."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from postroom.domain.errors import StoreUnavailable
from postroom.domain.file_ports import Draft

_CHUNK_BYTES: Final = 256 * 1024


class Drafts:
    """`folder` is made when it is first needed, for us alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def make(self, source: BinaryIO, look: Callable[[bytes], None]) -> Draft:
        """Written to the disk before it is anything; whatever goes wrong leaves nothing."""
        try:
            return await asyncio.to_thread(self._make, source, look)
        except OSError as error:
            raise StoreUnavailable(f"files: {error.strerror or type(error).__name__}") from None

    async def discard(self, draft: Draft) -> None:
        """Nothing to do for one that was kept: it has moved."""
        await asyncio.to_thread(draft.path.unlink, missing_ok=True)

    def remove_before(self, before_us: int) -> int:
        """Left behind by processes that died."""
        old = [one for one in _listed(self.folder) if one.stat().st_mtime_ns < before_us * 1000]
        for one in old:
            one.unlink(missing_ok=True)
        return len(old)

    def _make(self, source: BinaryIO, look: Callable[[bytes], None]) -> Draft:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.folder / secrets.token_hex(16)
        digest, size = sha256(), 0
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as copy:
                while chunk := source.read(_CHUNK_BYTES):
                    look(chunk)
                    digest.update(chunk)
                    size += len(chunk)
                    copy.write(chunk)
                copy.flush()
                os.fsync(copy.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return Draft(path=path, sha256=digest.hexdigest(), size=size)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
