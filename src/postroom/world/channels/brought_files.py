"""A file that came with a person's words, fetched from its provider: within bounds, and with its trouble as words."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from postroom.domain.errors import OutcomeUncertain, TargetUnavailable
from postroom.domain.inbound_message import InboundFile
from postroom.world.http.http_call import HttpCall

MOST_FILE_BYTES: Final = 50 * 1000 * 1000  # of ours, as of files that are sent
_ENDINGS: Final = {"audio/ogg": ".ogg", "image/jpeg": ".jpg", "audio/mpeg": ".mp3", "video/webm": ".webm"}
TOO_LARGE: Final = "it is larger than the {most:,} bytes that are taken"
UNREADABLE: Final = "{service} did not hand it out ({status})"


async def fetched(
    http: HttpCall, service: str, file: InboundFile, headers: Mapping[str, str], timeout_seconds: float
) -> InboundFile:
    """Raises TargetUnavailable when the provider cannot be asked now."""
    if file.size is not None and file.size > MOST_FILE_BYTES:
        return replace(file, problem=TOO_LARGE.format(most=MOST_FILE_BYTES))
    try:
        answer = await http.request(
            "GET", file.reference, timeout_seconds, headers=headers, most_bytes=MOST_FILE_BYTES + 1
        )
    except OutcomeUncertain as error:
        reason = error.message
    else:
        if answer.status == 429 or answer.status >= 500:
            raise TargetUnavailable(f"{service} answered {answer.status}")
        if not 200 <= answer.status < 300:
            return replace(file, problem=UNREADABLE.format(service=service, status=answer.status))
        if len(answer.body) > MOST_FILE_BYTES:
            return replace(file, problem=TOO_LARGE.format(most=MOST_FILE_BYTES))
        return replace(file, content=answer.body)
    raise TargetUnavailable(reason)


def is_at(url: object, *hosts: str) -> bool:
    """An address of the provider's own, encrypted unless it is where its API is, too; `hosts` may be above it."""
    try:
        found = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return False
    if found is None or found.scheme not in ("https", "http") or not found.hostname or found.username:
        return False
    return any(found.hostname == host or found.hostname.endswith(f".{host}") for host in hosts)


def with_ending(name: str, media_type: object) -> str:
    """Of those that a type may have, the one that people know."""
    if not isinstance(media_type, str):
        return name
    return f"{name}{_ENDINGS.get(media_type) or mimetypes.guess_extension(media_type) or ''}"
