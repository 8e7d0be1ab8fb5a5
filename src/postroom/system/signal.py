"""A wake-up for everyone who looks and then waits for more: nothing that comes in between is missed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path


class Signal:
    def __init__(self) -> None:
        self._news = asyncio.Event()
        self.is_closed = False

    def news(self) -> asyncio.Event:
        """Set by the next ring: take it before looking at what there is, wait for it afterwards, take another."""
        return self._news

    def ring(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def close(self) -> None:
        """The house is stopping: those who wait look once more and wait no longer."""
        self.is_closed = True
        self.ring()


class FileMark:
    """A signal for the other processes of a home, at the price of looking at a file's time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen_ns = 0

    def touch(self) -> None:
        with suppress(OSError):  # what cannot be said here is found by the others' next look
            self._path.touch()

    def was_touched(self) -> bool:
        """Since this was asked last."""
        try:
            at_ns = self._path.stat().st_mtime_ns
        except OSError:
            return False
        before, self._seen_ns = self._seen_ns, at_ns
        return at_ns != before
