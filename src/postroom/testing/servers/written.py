"""Write bytes a few at a time, as a network may bring them."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

_TURNS: Final = 4  # of the event loop, in which the client takes what has reached its socket


async def write_pieces(writer: asyncio.StreamWriter, raw: bytes, piece_bytes: int, pause_seconds: float = 0.0) -> int:
    """How many pieces there were."""
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    starts = range(0, len(raw), piece_bytes)
    for place in starts:
        writer.write(raw[place : place + piece_bytes])
        await writer.drain()
        if len(starts) > 1:
            await _let_them_arrive(pause_seconds)
    return len(starts)


async def _let_them_arrive(pause_seconds: float) -> None:
    if pause_seconds:
        await asyncio.sleep(pause_seconds)
    for _ in range(_TURNS):
        await asyncio.sleep(0)
