"""A real process that runs the delivery plane from the app's own builders, watched and ready to die."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import uvloop
from sqlalchemy import Connection, func, select
from tests.support.worlds import world_of

from chaos.crash_points import Crash
from chaos.job import Job, Package, Until
from chaos.journal import Journal, Step
from chaos.offset_clock import OffsetClock
from chaos.watched_channel import watched
from chaos.watched_ledger import WatchedLedger
from postroom.delivery.accept import Plane
from postroom.delivery.notify import deliver_envelope
from postroom.delivery.store.tables import delivery_requests
from postroom.household.channels import build_channels
from postroom.household.delivery import build_plane, running_plane, shared_state
from postroom.household.people import keep_in_step
from postroom.household.store import Store, open_store
from postroom.kernel.running import telemetry
from postroom.kernel.values.errors import StoreUnavailable
from postroom.message.channel import Channel
from postroom.message.delivery import IN_FLIGHT
from postroom.sandbox.accounts import SandboxAddress
from postroom.settings import Settings
from postroom.settings.load import load

_LOOK_SECONDS = 0.03
_AGAIN_SECONDS = 0.1
_PR_SET_PDEATHSIG = 1


def main(job: Job) -> None:
    """The target of a forked process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if job.log:
        target = os.open(job.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(target, 1)
        os.dup2(target, 2)
    if job.file_size_limit_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job.file_size_limit_bytes, job.file_size_limit_bytes))
    telemetry.configure_log("ERROR")
    uvloop.run(Worker(job).run())


class Worker:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._settings, _ = load(job.environment)
        self._journal = Journal(job.journal)
        self._crash = Crash(job.crash)
        self._clock = OffsetClock(job.clock_offset_seconds)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop.set)
        async with asyncio.timeout(self._job.limit_seconds), AsyncExitStack() as stack:
            store = await self._open(stack)
            plane = await stack.enter_async_context(self._plane(store))
            self._journal.note(Step.UP)
            work = asyncio.ensure_future(self._work(plane, store))
            told = asyncio.ensure_future(self._stop.wait())
            await asyncio.wait([work, told], return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            for task in (work, told):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _open(self, stack: AsyncExitStack) -> Store:
        store = await stack.enter_async_context(open_store(self._settings))
        store.ledger = WatchedLedger(store.ledger, self._journal, self._crash)
        return store

    @asynccontextmanager
    async def _plane(self, store: Store) -> AsyncIterator[Plane]:
        channels = watched_channels(self._settings, self._journal, self._crash, self._job.timeout_seconds)
        world = world_of(self._settings, store, clock=self._clock)
        if self._job.works:
            async with running_plane(world, channels) as plane:
                yield plane
            return
        await keep_in_step(world)
        async with shared_state(self._settings, self._clock) as shared:
            yield build_plane(world, channels, shared, world.registry)

    async def _work(self, plane: Plane, store: Store) -> None:
        half = len(self._job.packages) // 2
        await self._submit_all(plane, self._job.packages[:half])
        self._clock.jump(self._job.jump_seconds)
        await self._submit_all(plane, self._job.packages[half:])
        if self._job.until is Until.TOLD:
            await self._stop.wait()
        while self._job.until is Until.QUIET and await open_deliveries(store):
            await asyncio.sleep(_LOOK_SECONDS)

    async def _submit_all(self, plane: Plane, packages: tuple[Package, ...]) -> None:
        places = asyncio.Semaphore(self._job.at_once)

        async def one(package: Package) -> None:
            async with places:
                await self._submit(plane, package)
                await asyncio.sleep(self._job.pause_seconds)

        await asyncio.gather(*(one(package) for package in packages))

    async def _submit(self, plane: Plane, package: Package) -> None:
        while True:
            answer = await deliver_envelope(
                plane, package.envelope(), request_id=package.token, wait_seconds=self._job.wait_seconds
            )
            stored = "delivery_id" in (answer.get("delivery") or {})
            self._journal.note(Step.ANSWER, package.token, "stored" if stored else "refused")
            if stored or not self._job.persistent or not answer.get("retryable"):
                return
            await asyncio.sleep(_AGAIN_SECONDS)


def watched_channels(settings: Settings, journal: Journal, crash: Crash, timeout_seconds: float) -> dict[str, Channel]:
    """The sandbox lives in a process of its own; the ports say where, directly or through a proxy."""
    sandbox = SandboxAddress(settings.host, settings.ports.sandbox, settings.ports.sandbox_smtp)
    channels = build_channels(settings, sandbox if settings.in_sandbox else None)
    return {name: watched(channel, journal, crash, timeout_seconds) for name, channel in channels.items()}


async def open_deliveries(store: Store) -> int:
    def count(connection: Connection) -> int:
        waiting = delivery_requests.c.status.in_([str(status) for status in IN_FLIGHT])
        return connection.execute(select(func.count()).where(waiting)).scalar_one()

    try:
        return await store.database.read(count)
    except StoreUnavailable:
        return 1
