"""One server process that cannot outlive the process that started it."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_SECONDS

START_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1


class ServiceError(Exception):
    """A server could not be found or started; the text says what to do."""


class Server:
    """
    Start it from the main thread.

    Linux kills the server when the *thread* that started it ends, which is the
    last line of defence when its owner is killed with SIGKILL.
    """

    def __init__(self, command: Sequence[str], *, directory: Path, log: Path, user: str | None = None) -> None:
        self._command = list(command)
        self._directory = directory
        self._log = log
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, is_ready: Callable[[], bool]) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
                **run_as(self._user),
            )
        try:
            self._await(is_ready)
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def stop(self, with_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(with_signal)
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE_SECONDS)

    def _await(self, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServiceError(f"{Path(self._command[0]).name} did not start: {self._last_words()}")
            time.sleep(0.02)

    def _last_words(self) -> str:
        return " / ".join(self._log.read_text(errors="replace").splitlines()[-5:])


def run_as(user: str | None) -> dict[str, Any]:
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def _die_with_parent() -> None:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a shell's background job inherits it ignored
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
