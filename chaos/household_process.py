"""The `postroom` command itself, in a process that starts fast."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from postroom.cli.application import main as postroom

_PR_SET_PDEATHSIG = 1


def main(environment: Mapping[str, str], arguments: Sequence[str], log: Path) -> None:
    """The target of a forked process: from here on it is `postroom up`, nothing added."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    target = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(target, 1)
    os.dup2(target, 2)
    for name in [name for name in os.environ if name.startswith(("POSTROOM_", "BUTLER_"))]:
        del os.environ[name]
    os.environ.update(environment)
    sys.argv = ["postroom", *arguments]
    postroom()
