"""Reads back the plain PNG files that the desk writes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path


def pixel(file: Path, x: int, y: int) -> str:
    data = file.read_bytes()
    (width,) = struct.unpack(">I", data[16:20])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    rows = zlib.decompress(data[start + 4 : start + 4 + length])
    offset = y * (width * 3 + 1) + 1 + x * 3
    return "#" + rows[offset : offset + 3].hex()
