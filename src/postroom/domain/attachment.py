"""A file that goes with a message: taken over when it was handed in, and kept under its own hash since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from postroom.domain.record import record


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


def attachments_text(attachments: Sequence[Attachment]) -> str | None:
    return json.dumps([attachment_object(one) for one in attachments], ensure_ascii=False) if attachments else None


def attachments_of_text(text: str | None) -> tuple[Attachment, ...]:
    return () if text is None else tuple(Attachment(**one) for one in json.loads(text))
