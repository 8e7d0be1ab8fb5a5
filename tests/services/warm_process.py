"""`postroom …` as a child of a process that has read its source already; see `warm`."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]


class WarmProcess:
    """As much of `subprocess.Popen` as tests ask for."""

    returncode: int | None = None

    def __init__(
        self, environment: Mapping[str, str], *words: str, errors: int | None = None, module: str | None = None
    ) -> None:
        """What it prints to either place is in `stdout`, or its errors in a file of the caller's. `module`: as -m."""
        reading, writing = os.pipe()
        self.stdout: IO[str] = os.fdopen(reading)
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(_warm_socket())
        request = {"words": words, "environment": dict(environment), "folder": str(Path.cwd()), "module": module}
        with Path(os.devnull).open() as nothing:
            files = [nothing.fileno(), writing, writing if errors is None else errors]
            socket.send_fds(self._line, [b" "], files)
        os.close(writing)
        self._line.sendall(json.dumps(request).encode() + b"\n")
        self._told = self._line.makefile()
        self.pid = int(self._told.readline())

    def poll(self) -> int | None:
        return self.returncode if self.returncode is not None or not self._is_over(0) else self._end()

    def wait(self, timeout: float) -> int:
        if self.returncode is None and not self._is_over(timeout):
            raise subprocess.TimeoutExpired("postroom", timeout)
        return self.returncode if self.returncode is not None else self._end()

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _is_over(self, seconds: float) -> bool:
        return bool(select.select([self._line], [], [], seconds)[0])

    def _end(self) -> int:
        self.returncode = int(self._told.readline())
        self._told.close()
        self._line.close()
        return self.returncode


def run(
    environment: Mapping[str, str], *words: str, seconds: float = 60, module: str | None = None
) -> subprocess.CompletedProcess[str]:
    """A command to its end, as `subprocess.run` with captured output."""
    with tempfile.TemporaryFile("w+") as errors:
        process = WarmProcess(environment, *words, errors=errors.fileno(), module=module)
        stop = threading.Timer(seconds, process.kill)
        stop.start()
        with process.stdout:
            said = process.stdout.read()
        code = process.wait(seconds)
        stop.cancel()
        errors.seek(0)
        return subprocess.CompletedProcess(words, code, said, errors.read())


def shell_command() -> str:
    """What a script has to `exec` for `postroom`; its words follow."""
    return f'"{sys.executable}" -S -E "{ROOT / "tests/services/warm_client.py"}" "{_warm_socket()}"'


@cache
def _warm_socket() -> str:
    """Where it listens; it ends with this process, whatever ends that."""
    folder = tempfile.TemporaryDirectory(prefix="postroom-warm-", ignore_cleanup_errors=True)
    place = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.services.warm", place], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(folder.cleanup)
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    return place
