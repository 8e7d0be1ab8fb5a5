"""
A small process that stands above one session's program and ends everything the program started.

On Linux it is the "subreaper" of the session: whatever loses its parent there
becomes the keeper's child, also after `setsid` and with an empty environment.
It ends them all when the program ends, when the household asks, and when the
household is gone: both close the lifeline, a pipe whose other end the household
holds. Run by its path, without anything of ours or of the site, so that it
starts in no time:

    python -I -S session_keeper.py LIFELINE NAME=VALUE PROGRAM [ARGUMENT…]
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_CANNOT_START: Final = 127
_LOOK_EVERY_SECONDS: Final = 0.05
_GIVE_UP_SECONDS: Final = 4.0  # what is stuck in the kernel, or belongs to another user, ends without us or not at all


def main(arguments: list[str]) -> NoReturn:
    lifeline, variable, program, *rest = arguments
    woken = _waking_signals()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    os.set_inheritable(int(lifeline), False)
    child = os.fork()
    if child == 0:
        _become(variable, program, rest)
    _let_go_of_the_pipes()
    status = _until_over(child, int(lifeline), woken)
    _end_all(child, woken)
    _leave_as(status)


def _waking_signals() -> int:
    """A descriptor that can be read after SIGCHLD or SIGTERM."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reading


def _become(variable: str, program: str, arguments: list[str]) -> NoReturn:
    """The program leads a session of its own and does not outlive its keeper."""
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
            signal.signal(number, signal.SIG_DFL)
        name, _, value = variable.partition("=")
        os.execve(program, [program, *arguments], {**os.environ, name: value})  # noqa: S606  # what a keeper is for
    except OSError as error:
        os.write(2, f"the program cannot be started ({type(error).__name__})\n".encode())
    os._exit(_CANNOT_START)


def _let_go_of_the_pipes() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _until_over(child: int, lifeline: int, woken: int) -> int | None:
    """The program's wait status, or None when it has to be ended."""
    watch = select.poll()
    watch.register(lifeline, select.POLLIN | select.POLLHUP)
    watch.register(woken, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in watch.poll()}
        if lifeline in ready or signal.SIGTERM in _heard(woken):
            return None
        for pid, status in _ended():
            if pid == child:
                return status


def _heard(woken: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(woken, 4096)
    return b""


def _ended() -> Iterator[tuple[int, int]]:
    """Those that have ended, which also removes them; raises ChildProcessError when there is nobody left."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        yield pid, status


def _end_all(child: int, woken: int) -> None:
    """Ending a parent makes its children ours, so this is over when there is no child left."""
    until = time.monotonic() + _GIVE_UP_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            for pid in (-child, *_descendants()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            for _ in _ended():
                pass
            select.select([woken], [], [], _LOOK_EVERY_SECONDS)
            _heard(woken)


def _descendants() -> list[int]:
    """From the whole table of processes; none where the system does not show it. (`pathlib` would double our start.)"""
    children: dict[int, list[int]] = {}
    for pid in _processes():
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(pid)
    found = list(children.get(os.getpid(), ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def _leave_as(status: int | None) -> NoReturn:
    """As the program did, so that whoever started us reads its end from ours."""
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if status is not None else 1)


def _prctl(option: int, value: int) -> None:
    """Only Linux has it; elsewhere a process that leaves the session's group is not found."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
