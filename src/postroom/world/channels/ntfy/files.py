"""Files for an ntfy topic: each a notification of its own after the text, with what it says in headers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postroom.domain.attachment import Attachment
from postroom.domain.delivery import REPEAT_MARK, Message
from postroom.world.channels.carried_files import plain_name, plain_type
from postroom.world.channels.mail_header import encoded
from postroom.world.channels.ntfy.call import NtfyCall


def file_bodies(message: Message, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`body` is what all of them have in common."""
    for place, one in enumerate(message.attachments, 1):
        is_marked = message.repeated and place == len(message.attachments)
        yield body | {"message": f"{plain_name(one)} {REPEAT_MARK}" if is_marked else plain_name(one)}


def file_headers(call: NtfyCall, file: Attachment) -> dict[str, str]:
    said = {
        "Filename": plain_name(file),
        "X-Message": call.text,
        "X-Title": str(call.body.get("title", "")),
        "X-Priority": str(call.body["priority"]),
        "X-Tags": ",".join(call.body.get("tags", ())),
        "X-Sequence-ID": call.sequence_id,
    }
    return {name: _line(text) for name, text in said.items() if text} | {"Content-Type": plain_type(file)}


def _line(text: str) -> str:
    """Headers have no line ends, so the encoded words of a long one stand side by side (RFC 2047)."""
    return encoded(text).replace("\r\n", "")
