"""Whether an upload may go with a message: it is there, it is the sender's, and it is not too old."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.attachment import Attachment
from postroom.domain.clock import Clock
from postroom.domain.errors import InternalError, ValidationError
from postroom.domain.file_ports import FileStore, UploadRecord
from postroom.domain.ledger import NewDelivery
from postroom.domain.upload import CLAIM_US, Upload
from postroom.work.files.file_name import clean_name
from postroom.work.files.fit import ATTACHMENTS, refused
from postroom.work.files.media_type import agreed_type


def check_usable(upload: Upload | None, owner: str, now_us: int, *, field: str) -> Upload:
    """Another caller's upload is as unknown as one that never was."""
    if upload is None or upload.owner != owner:
        raise refused(field, "is not an upload of yours", "unknown_upload")
    if upload.used_by is None and upload.expires_at_us <= now_us:
        raise refused(field, "has expired; upload it again", "upload_expired")
    return upload


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedFiles:
    """What acceptance asks about the files of a message, and only of one that has any."""

    record: UploadRecord
    store: FileStore
    clock: Clock

    async def check(self, new: NewDelivery) -> None:
        """Raises ValidationError for files that this message cannot have."""
        found = {one.id: one for one in await self.record.find([one.upload_id for one in new.attachments])}
        for index, one in enumerate(new.attachments):
            await self._check(one, found.get(one.upload_id), new, f"{ATTACHMENTS}[{index}]")

    async def claim(self, new: NewDelivery) -> None:
        """Checked, and taken for this delivery alone; the same key may take them again."""
        await self.check(new)
        ids = [one.upload_id for one in new.attachments]
        if not await self.record.claim(ids, new.origin_butler, new.idempotency_key, self.clock.now_us()):
            raise _used(ATTACHMENTS)

    async def _check(self, one: Attachment, upload: Upload | None, new: NewDelivery, field: str) -> None:
        now_us = self.clock.now_us()
        upload = check_usable(upload, new.origin_butler, now_us, field=f"{field}.upload_id")
        if upload.used_by not in (None, new.idempotency_key) and not _abandoned(upload, now_us):
            raise _used(f"{field}.upload_id")
        if (one.sha256, one.size) != (upload.sha256, upload.size):
            raise refused(field, "is not the file that was uploaded", "upload_mismatch")
        if clean_name(one.name) != one.name:
            raise refused(f"{field}.name", "is no name of a file", "invalid_name")
        if agreed_type(upload.media_type, one.media_type) != one.media_type:
            told = f"is not what the file is ({upload.media_type})"
            raise refused(f"{field}.media_type", told, "type_mismatch")
        if not await self.store.holds(one):
            raise InternalError(f"the bytes of {field} are gone; upload it again")


def _used(field: str) -> ValidationError:
    return refused(field, "has gone with another message; upload it again", "upload_used")


def _abandoned(upload: Upload, now_us: int) -> bool:
    """Its delivery may never have been written; the ledger has the last word when it is taken."""
    return upload.used_at_us is not None and upload.used_at_us + CLAIM_US <= now_us
