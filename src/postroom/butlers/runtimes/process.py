"""Starts a program, gives it its prompt, and leaves nothing of it behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from postroom.butlers.model import SESSION_VARIABLE, Ended, Launch
from postroom.butlers.runtimes import session_keeper
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import TargetUnavailable
from postroom.kernel.values.ids import seconds

MAX_OUTPUT_BYTES: Final = 4 * 1024 * 1024
_MAX_COMPLAINT_BYTES: Final = 64 * 1024
_CLOSE_SECONDS: Final = 5.0


class NotInstalled(TargetUnavailable):
    """The program that should run the model is not on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPrograms:
    """Where programs are looked for: the search path is the one thing of ours they inherit."""

    path: str
    clock: Clock

    async def run(self, launch: Launch, *, timeout_seconds: float, secrets: Sequence[str]) -> Ended:
        """Whatever happens, cancellation included, the whole tree is dead when this returns."""
        program = self._find(launch.argv[0])
        await asyncio.to_thread(_prepare, launch)
        until_us = self.clock.now_us() + seconds(timeout_seconds)
        dialogue = _Dialogue()
        transport, lifeline = await self._start(program, launch, dialogue)
        try:
            _feed(transport, launch.stdin)
            in_time = await self.clock.wait(dialogue.exited, until_us)
        finally:
            await _end(transport, dialogue, lifeline, launch.environment[SESSION_VARIABLE])
        return Ended(
            exit_code=transport.get_returncode() if in_time else None,
            timed_out=not in_time,
            stdout=without(secrets, dialogue.stdout.content()),
            stderr=without(secrets, dialogue.stderr.content()),
        )

    async def _start(
        self, program: str, launch: Launch, dialogue: _Dialogue
    ) -> tuple[asyncio.SubprocessTransport, int]:
        """Under a keeper, which ends everything when the other end of its lifeline is closed, by us or by our death."""
        kept, lifeline = os.pipe()
        session = f"{SESSION_VARIABLE}={launch.environment[SESSION_VARIABLE]}"  # its own would make it a straggler
        environment = {name: value for name, value in launch.environment.items() if name != SESSION_VARIABLE}
        keeper = [sys.executable, "-I", "-S", session_keeper.__file__, str(kept), session]
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: dialogue,
                *keeper,
                program,
                *launch.argv[1:],
                cwd=launch.work,
                env={**environment, "PATH": self.path},
                start_new_session=True,
                pass_fds=(kept,),
            )
        except BaseException:
            os.close(lifeline)
            raise
        finally:
            os.close(kept)
        return transport, lifeline

    async def clear(self, session_id: str) -> None:
        """Ends what a session of an earlier process has left behind."""
        await asyncio.to_thread(kill_stragglers, session_id)

    def _find(self, name: str) -> str:
        found = shutil.which(name, path=self.path)
        if found is None:
            raise NotInstalled(
                f"the program '{name}' is not installed: it is in no folder of PATH; "
                "install it or set another runtime type"
            )
        return found


def _prepare(launch: Launch) -> None:
    for path, content in launch.files.items():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_private(path, content)


def _write_private(path: Path, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)


class _Dialogue(asyncio.SubprocessProtocol):
    """Tells the end of the program from the end of its output, which a child may hold open."""

    def __init__(self) -> None:
        self.stdout = Bounded(MAX_OUTPUT_BYTES)
        self.stderr = Bounded(_MAX_COMPLAINT_BYTES)
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.stdout if fd == 1 else self.stderr).add(data)

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()


def _feed(transport: asyncio.SubprocessTransport, prompt: str) -> None:
    """A program may well have ended without reading its prompt."""
    stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    if not stdin.is_closing():
        stdin.write(prompt.encode())
        stdin.close()


async def _end(transport: asyncio.SubprocessTransport, dialogue: _Dialogue, lifeline: int, session_id: str) -> None:
    """Children that outlive the program would go on acting for a session that is over."""
    os.close(lifeline)
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await dialogue.exited.wait()
            await asyncio.to_thread(kill_stragglers, session_id)  # if something ended the keeper first
            await dialogue.closed.wait()
    except TimeoutError:
        await asyncio.to_thread(kill_stragglers, session_id)
    finally:
        transport.close()  # somebody may still hold a pipe; what was printed so far is what counts


# What it prints, bounded and without the secrets it was given.

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


# The processes of a session, wherever they have gone.

_PROCESSES: Final = Path("/proc")
_PASSES: Final = 20


def kill_stragglers(session_id: str) -> int:
    """
    Ends every process that still carries the session in its environment.

    A process can leave its group, and after a crash of the household nobody
    remembers the group; the environment it was started with stays. Where the
    system does not show environments, nothing is found. Returns how many.
    """
    ended: set[int] = set()
    for _ in range(_PASSES):
        found = [pid for pid in _carrying(session_id) if pid != os.getpid()]
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
    return len(ended)


def _carrying(session_id: str) -> Iterator[int]:
    mark = f"{SESSION_VARIABLE}={session_id}".encode()
    for folder in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
