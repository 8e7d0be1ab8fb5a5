"""Reads back the plain PNG files that the desk writes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path


def pixel(file: Path, x: int, y: int) -> str:
    width, rows = _rows(file)
    offset = y * (width * 3 + 1) + 1 + x * 3
    return "#" + rows[offset : offset + 3].hex()


def difference(one: Path, other: Path) -> float:
    """The share of bytes that differ between two pictures of the same size."""
    (_, first), (_, second) = _rows(one), _rows(other)
    assert len(first) == len(second)
    return sum(a != b for a, b in zip(first, second, strict=True)) / len(first)


def size(file: Path) -> tuple[int, int]:
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _rows(file: Path) -> tuple[int, bytes]:
    data = file.read_bytes()
    (width,) = struct.unpack(">I", data[16:20])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    return width, zlib.decompress(data[start + 4 : start + 4 + length])
