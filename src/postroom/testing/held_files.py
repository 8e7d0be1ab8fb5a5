"""Files in memory, for a channel that is looked at: what `files=` is given instead of a household's own."""

from __future__ import annotations

import hashlib
from typing import Final

from postroom.domain.attachment import Attachment


class HeldFiles:
    """Kept by their hash; `read` counts, so that a test can see when bytes are taken."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self.reads = 0

    def hold(self, name: str, content: bytes, media_type: str = "application/octet-stream") -> Attachment:
        sha256 = hashlib.sha256(content).hexdigest()
        self._contents[sha256] = content
        return Attachment(
            upload_id=f"upload-{sha256[:12]}", sha256=sha256, name=name, media_type=media_type, size=len(content)
        )

    async def read(self, attachment: Attachment) -> bytes:
        self.reads += 1
        return self._contents[attachment.sha256]


FILES: Final = HeldFiles()
"""Those that the suite sends: a channel that carries files is connected with `files=FILES`."""
