"""Files that are kept, as pruning sees them, wherever they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from postroom.domain.file_ports import FileStore


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFile:
    sha256: str
    size: int
    at_us: int


class KeptFiles(FileStore, Protocol):
    async def kept_before(self, before_us: int) -> Sequence[KeptFile]:
        """Old enough that whoever stored them has had the time to write it down."""
        ...

    async def remove(self, sha: str, before_us: int) -> bool:
        """Not one that has been stored again since then."""
        ...

    async def remove_drafts(self, before_us: int) -> int: ...
