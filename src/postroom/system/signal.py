"""A wake-up for everyone who looks and then waits for more: nothing that comes in between is missed."""

from __future__ import annotations

import asyncio


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
