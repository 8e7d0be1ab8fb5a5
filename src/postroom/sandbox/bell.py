"""Wakes everyone who waits, once per ring."""

from __future__ import annotations

import asyncio


class Bell:
    def __init__(self) -> None:
        self._next = asyncio.Event()

    def next_ring(self) -> asyncio.Event:
        """Take it before looking for news, so that nothing that comes in between is missed."""
        return self._next

    def ring(self) -> None:
        rung, self._next = self._next, asyncio.Event()
        rung.set()
