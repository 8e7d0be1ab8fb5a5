"""Read the whole body of an answer, which a network hands over in pieces."""

from __future__ import annotations

from typing import Final

import aiohttp

MOST_BYTES: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 65_536


async def whole_answer(content: aiohttp.StreamReader, most_bytes: int = MOST_BYTES) -> bytes:
    """`content.read` gives what has arrived so far. An answer past the limit is cut: unreadable, not endless."""
    collected = bytearray()
    while len(collected) < most_bytes and (piece := await content.read(_PIECE_BYTES)):
        collected += piece
    return bytes(collected)
