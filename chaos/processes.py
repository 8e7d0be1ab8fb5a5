"""Processes that start fast, because a parent has imported everything before they are born."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

from chaos import worker_process
from chaos.job import Job

_END_SECONDS = 15.0


class Overdue(Exception):
    """A process did not end when it had to."""


class Child:
    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def exit_code(self) -> int | None:
        """Negative: the signal that ended it."""
        return self._process.exitcode

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    async def ended(self, seconds: float) -> int:
        """Its exit code; past the time it is killed and that is an error."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        loop.add_reader(self._process.sentinel, over.set)
        try:
            async with asyncio.timeout(seconds):
                await over.wait()
        except TimeoutError:
            self.end()
            raise Overdue(f"a process was still running after {seconds:.0f} s") from None
        finally:
            loop.remove_reader(self._process.sentinel)
        self._process.join(_END_SECONDS)
        assert self._process.exitcode is not None
        return self._process.exitcode

    def end(self) -> None:
        if self.alive:
            self.kill()
        self._process.join(_END_SECONDS)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Processes:
    """Every child still alive at the end is killed."""

    def __init__(self) -> None:
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["chaos.preload"])
        self._children: list[Child] = []

    def start(self, target: Callable[..., Any], *arguments: Any) -> Child:
        child = Child(self._context.Process(target=target, args=arguments, daemon=True))
        self._children = [one for one in self._children if one.alive]
        self._children.append(child)
        return child

    def job(self, job: Job) -> Child:
        return self.start(worker_process.main, job)

    async def run(self, job: Job, *, seconds: float | None = None) -> int:
        return await self.job(job).ended(seconds or job.limit_seconds + _END_SECONDS)

    def close(self) -> None:
        for child in self._children:
            child.end()
