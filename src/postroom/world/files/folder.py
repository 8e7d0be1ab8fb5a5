"""Files in a folder, which many machines may share, each under the hash of its bytes: `ab/cdef…`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from postroom.domain.attachment import Attachment
from postroom.domain.errors import InternalError, StoreUnavailable
from postroom.domain.file_ports import Draft
from postroom.world.files.drafts import Drafts
from postroom.world.files.kept import KeptFile

_HEX: Final = frozenset("0123456789abcdef")
_HASH_LENGTH: Final = 64
_Result = TypeVar("_Result")


class FolderFiles:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._drafts = Drafts(root / "drafts")
        self._gone = root / "gone"  # taken away, and brought back if somebody has just stored the same bytes

    async def draft(self, source: BinaryIO, look: Callable[[bytes], None]) -> Draft:
        return await self._drafts.make(source, look)

    async def discard(self, draft: Draft) -> None:
        await self._drafts.discard(draft)

    async def keep(self, draft: Draft) -> None:
        """Over what is there: the same bytes, but new, so that no pruning that has just begun takes them away."""
        await self._in_thread(self._keep, draft)

    async def read(self, attachment: Attachment) -> bytes:
        content = await self._in_thread(self._read, attachment.sha256)
        if content is None:
            raise InternalError(f"the bytes of {attachment.sha256[:12]} are gone")
        if sha256(content).hexdigest() != attachment.sha256:
            raise InternalError(f"the bytes of {attachment.sha256[:12]} have changed on disk")
        return content

    async def holds(self, attachment: Attachment) -> bool:
        return await self._in_thread(self._size, attachment.sha256) == attachment.size

    async def kept_before(self, before_us: int) -> list[KeptFile]:
        """Old enough that whoever stored them has had the time to write it down."""
        return await self._in_thread(lambda: [one for one in self._listed() if one.at_us < before_us])

    async def remove(self, sha: str, before_us: int) -> bool:
        """Not one that has been stored again since then."""
        return await self._in_thread(self._remove, sha, before_us)

    async def remove_drafts(self, before_us: int) -> int:
        return await self._in_thread(self._drafts.remove_before, before_us)

    async def close(self) -> None:
        return None

    async def _in_thread(self, work: Callable[..., _Result], *arguments: object) -> _Result:
        try:
            return await asyncio.to_thread(work, *arguments)
        except OSError as error:
            raise StoreUnavailable(f"files: {error.strerror or type(error).__name__}") from None

    def _place(self, sha: str) -> Path:
        if len(sha) != _HASH_LENGTH or not _HEX.issuperset(sha):
            raise InternalError("that is no hash of a file")
        return self.root / sha[:2] / sha[2:]

    def _keep(self, draft: Draft) -> None:
        place = self._place(draft.sha256)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.utime(draft.path)
        draft.path.replace(place)
        for folder in (place.parent, self.root):
            _sync_folder(folder)

    def _read(self, sha: str) -> bytes | None:
        return self._there(sha, Path.read_bytes)

    def _size(self, sha: str) -> int | None:
        found = self._there(sha, Path.stat)
        return found.st_size if found else None

    def _there(self, sha: str, look: Callable[[Path], _Result]) -> _Result | None:
        """A process that died while it took a file away may have left it aside."""
        place = self._place(sha)
        for bring_back in (False, True):
            with suppress(FileNotFoundError):
                if bring_back:
                    (self._gone / sha).replace(place)
                return look(place)
        return None

    def _listed(self) -> Iterator[KeptFile]:
        for aside in self._gone.glob("*"):
            self._there(aside.name, Path.stat)
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
            for file in folder.iterdir():
                with suppress(FileNotFoundError):
                    found = file.stat()
                    yield KeptFile(sha256=folder.name + file.name, size=found.st_size, at_us=found.st_mtime_ns // 1000)

    def _remove(self, sha: str, before_us: int) -> bool:
        place, aside = self._place(sha), self._gone / sha
        aside.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            place.rename(aside)
        except FileNotFoundError:
            return False
        if aside.stat().st_mtime_ns // 1000 >= before_us:
            aside.replace(place)
            return False
        aside.unlink()
        return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
