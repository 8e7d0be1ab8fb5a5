"""One request on its way into the store, and everyone who asks for just that."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Arrival(Generic[Answer]):
    """Each caller has an answer of its own to wait for, so that hanging up stops neither the work nor the others."""

    __slots__ = ("_callers", "task")

    def __init__(self) -> None:
        self._callers: list[asyncio.Future[Answer]] = []
        self.task: asyncio.Task[None] | None = None

    def heard(self) -> asyncio.Future[Answer]:
        caller: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._callers.append(caller)
        return caller

    def tell(self, answer: Answer) -> None:
        for caller in self._callers:
            if not caller.done():
                caller.set_result(answer)

    def fail(self, error: BaseException) -> None:
        for caller in self._callers:
            if not caller.done():
                caller.set_exception(error)
