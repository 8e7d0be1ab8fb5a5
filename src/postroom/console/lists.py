"""Work on many things at once, in the background, with progress to look at."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from postroom.kernel.values.principal import Principal

_AT_ONCE: Final = 4
_REMEMBERED: Final = 50
_MOST_PROBLEMS: Final = 100
_log = structlog.get_logger("postroom.console")

Step = Callable[[str], Awaitable[str | None]]  # None when it went well, else a sentence


@dataclass(slots=True, kw_only=True)
class Work:
    """How far one piece of work has come; `whose` alone may look at it."""

    id: str
    title: str
    whose: Principal
    total: int
    done: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    failed: int = 0
    stopped: bool = False

    @property
    def finished(self) -> bool:
        return self.done == self.total or self.stopped

    @property
    def succeeded(self) -> int:
        return self.done - self.failed

    def note(self, name: str, problem: str | None) -> None:
        self.done += 1
        if problem is not None:
            self.failed += 1
            if len(self.problems) < _MOST_PROBLEMS:
                self.problems.append((name, problem))


class Bulk:
    """What is going on here and now: a restart forgets the progress, never what was done."""

    def __init__(self, mint: Callable[[], str]) -> None:
        self._mint = mint
        self._works: OrderedDict[str, Work] = OrderedDict()
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, title: str, whose: Principal, names: Sequence[str], step: Step) -> Work:
        work = Work(id=self._mint(), title=title, whose=whose, total=len(names))
        self._works[work.id] = work
        while len(self._works) > _REMEMBERED:
            self._works.popitem(last=False)
        task = asyncio.create_task(_do(work, names, step))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return work

    def find(self, work_id: str, who: Principal) -> Work | None:
        work = self._works.get(work_id)
        return work if work is not None and work.whose == who else None

    async def close(self) -> None:
        """Steps that have begun are not cut off; those that have not are left."""
        for work in self._works.values():
            work.stopped = True
        if self._running:
            await asyncio.wait(self._running)


async def _do(work: Work, names: Sequence[str], step: Step) -> None:
    waiting = iter(names)

    async def hand() -> None:
        for name in waiting:
            if work.stopped:
                return
            work.note(name, await _problem_of(step, name))

    await asyncio.gather(*(hand() for _ in range(_AT_ONCE)))


async def _problem_of(step: Step, name: str) -> str | None:
    """A mistake of ours is a problem with this one; the others are done, and the work ends."""
    try:
        return await step(name)
    except Exception as error:
        _log.error("console.bulk.bug", error=type(error).__name__)
        return f"failed by a mistake of ours ({type(error).__name__})"
