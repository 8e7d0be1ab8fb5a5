"""The `postroom` command on one of the machines: in its network, by its clock, and of the version it has."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos import household_process
from chaos.machines.network import Machine
from chaos.offset_clock import OffsetClock
from postroom.kernel.running import clock as clocks

_CLONE_NEWNET: Final = 0x40000000
_PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """`source` is the tree of another version; without it, this one."""

    machine: Machine
    environment: dict[str, str]
    words: tuple[str, ...]
    log: Path
    clock_offset_seconds: float = 0.0
    source: Path | None = None


def main(start: Start) -> None:
    """The target of a forked process."""
    _move_to(start.machine)
    if start.source is not None:
        sys.exit(_other_version(start, start.source))
    _set_clock(start.clock_offset_seconds)
    household_process.main(start.environment, start.words, start.log)


def _move_to(machine: Machine) -> None:
    with machine.file.open() as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot go to {machine.namespace}")


def _set_clock(offset_seconds: float) -> None:
    """The whole process reads the time of day from one class, so this is the machine's clock."""
    wrong = OffsetClock(offset_seconds)
    clocks.SystemClock.now_us = lambda self: wrong.now_us()  # type: ignore[method-assign]


def _other_version(start: Start, source: Path) -> int:
    """A child of this process, because only this one's end is watched; it is told to stop as we are."""
    _die_with_parent()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "BUTLER_"))}
    with start.log.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "postroom", *start.words],
            env={**kept, **start.environment, "PYTHONPATH": str(source / "src")},
            cwd=start.log.parent,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_parent,
        )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    return child.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
