"""How large a file is, in words."""

from __future__ import annotations


def size_words(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
