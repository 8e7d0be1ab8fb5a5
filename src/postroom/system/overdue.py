"""Calls that take too long are given up, and those that do not pay nothing for it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from typing import Any, TypeVar

Result = TypeVar("Result")


class Overdue:
    """
    For limits that are hardly ever met: of a channel that forgets its own deadline, of a database that falls silent.

    One timer looks at all calls now and then, so those that end in time, and that
    is nearly all, pay for none of their own.
    """

    def __init__(self, *, look_every_seconds: float = 1.0) -> None:
        self._look_every_seconds = look_every_seconds
        self._until: dict[asyncio.Task[Any], float] = {}
        self._given_up: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def limit(self, call: Awaitable[Result], seconds: float) -> Result:
        """Raises TimeoutError when the call was given up."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # narrows the type; a coroutine runs in a task
        until = task.get_loop().time() + seconds
        around = self._until.get(task, math.inf)  # a call within a call has no more time than the one around it
        self._until[task] = min(until, around)
        asked_before = task.cancelling()
        if self._timer is None:
            self._look_later(task.get_loop())
        try:
            return await call
        except asyncio.CancelledError:
            if task in self._given_up and task.cancelling() == asked_before + 1:
                raise TimeoutError from None
            raise
        finally:
            if around < math.inf:
                self._until[task] = around
            else:
                del self._until[task]
            if task in self._given_up:  # however the call ended: what we asked of the task is over with it
                self._given_up.discard(task)
                task.uncancel()

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._look_every_seconds, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for task, until in self._until.items():
            if until <= loop.time() and task not in self._given_up:
                self._given_up.add(task)
                task.cancel()
        if self._until:
            self._look_later(loop)
