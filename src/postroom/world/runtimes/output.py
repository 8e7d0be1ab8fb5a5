"""What a program prints, bounded and without the secrets it was given."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

_SHORTEST_SECRET: Final = 8  # anything shorter would tear holes into ordinary words
HIDDEN: Final = "***"


class Bounded:
    """The beginning and the end; a program that prints without end loses the middle."""

    def __init__(self, most_bytes: int) -> None:
        self._half = most_bytes // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._dropped = False

    def add(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        if rest := chunk[room:]:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._half:
            self._tail_bytes -= len(self._tail.popleft())
            self._dropped = True

    def content(self) -> bytes:
        """The seam is a line break, so that two halves of different lines are never read as one."""
        tail = b"".join(self._tail)
        cut = tail[-self._half :] if len(tail) > self._half else tail
        seam = b"\n" if self._dropped or len(cut) < len(tail) else b""
        return bytes(self._head) + seam + cut


def without(secrets: Iterable[str], output: bytes) -> bytes:
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            output = output.replace(secret.encode(), HIDDEN.encode())
    return output
