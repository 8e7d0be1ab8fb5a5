"""Enough of a file for a person to decide on it, as text that can do nothing."""

from __future__ import annotations

from typing import Final

from postroom.work.files.media_type import PICTURES, Sniffer, is_text

MOST_PREVIEW_CHARACTERS: Final = 2_000
_DUMP_BYTES: Final = 256
_A_LINE: Final = 16


def preview(content: bytes, media_type: str) -> str:
    """The beginning of a text; of anything else a dump of its first bytes. A picture is shown, not described."""
    if media_type in PICTURES:
        return ""
    if is_text(media_type):
        text = content[: 4 * MOST_PREVIEW_CHARACTERS + 4].decode(errors="replace")
        cut = len(text) > MOST_PREVIEW_CHARACTERS or len(content) > 4 * MOST_PREVIEW_CHARACTERS + 4
        return text[:MOST_PREVIEW_CHARACTERS] + ("…" if cut else "")
    return dump(content[:_DUMP_BYTES]) + ("\n…" if len(content) > _DUMP_BYTES else "")


def shown_as_picture(content: bytes) -> str | None:
    """The type of a picture that a browser may show, by its bytes and nothing else."""
    sniffer = Sniffer()
    sniffer.feed(content)
    found = sniffer.found("")
    return found if found in PICTURES else None


def dump(content: bytes) -> str:
    lines = (content[start : start + _A_LINE] for start in range(0, len(content), _A_LINE))
    return "\n".join(f"{one.hex(' '):<47}  {_printable(one)}" for one in lines)


def _printable(line: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
