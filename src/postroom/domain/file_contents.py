"""Where the bytes of files are."""

from __future__ import annotations

from typing import Protocol

from postroom.domain.attachment import Attachment


class FileContents(Protocol):
    """The bytes of files that were taken over."""

    async def read(self, attachment: Attachment) -> bytes:
        """Raises InternalError when they are gone, and StoreUnavailable when they cannot be reached now."""
        ...
