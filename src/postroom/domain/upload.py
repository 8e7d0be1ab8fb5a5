"""A file that a caller has handed in, to go with one message of that caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.domain.attachment import Attachment
from postroom.domain.time import SECOND_US

UPLOAD_LIFE_US: Final = 3600 * SECOND_US
CLAIM_US: Final = 60 * SECOND_US
"""How long a delivery that took an upload has to appear in the ledger before another may take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """
    `owner` is in whose name its message must leave; `key` is the caller's own, for handing in the same file twice.

    `used_by` is the ledger's key of the delivery that took it.
    """

    id: str
    owner: str
    sha256: str
    name: str
    media_type: str
    size: int
    created_at_us: int
    expires_at_us: int
    key: str | None = None
    used_by: str | None = None
    used_at_us: int | None = None

    def attached(self, name: str | None = None, media_type: str | None = None) -> Attachment:
        return Attachment(
            upload_id=self.id,
            sha256=self.sha256,
            name=name or self.name,
            media_type=media_type or self.media_type,
            size=self.size,
        )
