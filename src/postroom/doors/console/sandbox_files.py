"""The files that came with what the sandbox got: pictures are shown, others can be saved; nothing in them runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

_PICTURES: Final = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    name: str
    size: str
    sha256: str
    is_picture: bool


def shown_files(listing: Mapping[str, Any]) -> Sequence[ShownFile]:
    """Of one message, as the sandbox lists it."""
    return [
        ShownFile(
            name=str(one["name"]),
            size=size_words(int(one["size"])),
            sha256=str(one["sha256"]),
            is_picture=one["media_type"] in _PICTURES,
        )
        for one in listing.get("attachments") or ()
    ]


def size_words(size: int) -> str:
    if size < 1_000:
        return f"{size} bytes" if size != 1 else "1 byte"
    if size < 1_000_000:
        return f"{size / 1_000:.1f} kB"
    return f"{size / 1_000_000:.1f} MB"


def file_answer(content: bytes) -> Response:
    """A picture by its own first bytes, never by what was said of it; every page's headers forbid the rest."""
    kind = next((kind for kind, sign in _PICTURES.items() if content.startswith(sign)), None)
    headers = {"Content-Disposition": "attachment" if kind is None else "inline"}
    return Response(content, media_type=kind or "application/octet-stream", headers=headers)
