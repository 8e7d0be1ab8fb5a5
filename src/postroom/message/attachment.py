"""A file that goes with a message: taken over when it was handed in, and kept under its own hash since."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import SECOND_US, is_uuid, record

_MOST_ATTACHMENTS: Final = 10
_NAMES: Final = ("upload_id", "sha256", "name", "media_type", "size")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MOST_BYTES: Final = 2**53 - 1


@record
class Attachment:
    """
    `sha256` names the bytes, so what is approved is what is sent, however often and wherever it came from.

    `upload_id` is the hand over it came with; `name` is fit to be shown, `media_type` is what the bytes say.
    """

    upload_id: str
    sha256: str
    name: str
    media_type: str
    size: int


def attachment_object(one: Attachment) -> dict[str, Any]:
    return {
        "upload_id": one.upload_id,
        "sha256": one.sha256,
        "name": one.name,
        "media_type": one.media_type,
        "size": one.size,
    }


def file_shape(one: Attachment) -> dict[str, Any]:
    """As agents are told of a file that a person sent."""
    return {"upload_id": one.upload_id, "name": one.name, "media_type": one.media_type, "size": one.size}


def read_attachments(fields: Fields) -> tuple[Attachment, ...]:
    """As `attachment_object` writes them; whether there is such an upload is for acceptance to say."""
    given = fields.raw("attachments")
    if given is None:
        return ()
    if not isinstance(given, list):
        fields.complain("attachments", "must be a list", "list_required")
        return ()
    if len(given) > _MOST_ATTACHMENTS:
        fields.complain("attachments", f"must have at most {_MOST_ATTACHMENTS} entries", "too_many_files")
        return ()
    return tuple(
        _read_attachment(Fields(one, fields.path(f"attachments[{index}]"), fields.complaints))
        for index, one in enumerate(given)
    )


def _read_attachment(fields: Fields) -> Attachment:
    fields.refuse_unknown(_NAMES)
    upload_id, sha256 = fields.text("upload_id", maximum=36), fields.text("sha256", maximum=64)
    if upload_id and not is_uuid(upload_id):
        fields.complain("upload_id", "must be the id of an upload", "uuid_required")
    if sha256 and not _SHA256.fullmatch(sha256):
        fields.complain("sha256", "must be 64 hexadecimal digits", "hash_required")
    size = fields.raw("size")
    if type(size) is not int or not 0 < size <= _MOST_BYTES:
        fields.complain("size", "must be a number of bytes", "size_required")
        size = 0
    return Attachment(
        upload_id=upload_id,
        sha256=sha256,
        name=fields.text("name", maximum=255),
        media_type=fields.text("media_type", maximum=150),
        size=size,
    )


def attachments_text(attachments: Sequence[Attachment]) -> str | None:
    return json.dumps([attachment_object(one) for one in attachments], ensure_ascii=False) if attachments else None


def attachments_of_text(text: str | None) -> tuple[Attachment, ...]:
    return () if text is None else tuple(Attachment(**one) for one in json.loads(text))


# A file that a caller has handed in, to go with one message of that caller.

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


# Where the bytes are, and what takes them over.


class FileContents(Protocol):
    """The bytes of files that were taken over."""

    async def read(self, attachment: Attachment) -> bytes:
        """Raises InternalError when they are gone, and StoreUnavailable when they cannot be reached now."""
        ...


# How large a file is, in words.


def size_words(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
