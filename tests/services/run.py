"""The servers of one test run, as the run and its workers see them."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.services.server import ServiceError

URL_VARIABLES = {"postgres": "POSTROOM_TEST_POSTGRES_URL", "redis": "POSTROOM_TEST_REDIS_URL"}
_SOCKET_VARIABLE = "POSTROOM_TEST_KEEPER"
_ROOT = Path(__file__).parents[2]
_START_SECONDS = 120.0
_STOP_SECONDS = 30.0


class ServiceRun:
    """Held by the process that the developer started; its workers find the keeper through the environment."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="postroom-tests-"))
        self.directory.chmod(0o711)  # PostgreSQL runs as another user and has to pass through
        address = str(self.directory / "keeper")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()
            self._keeper = self._start(listener)
        os.environ[_SOCKET_VARIABLE] = address

    @property
    def keeper_pid(self) -> int:
        return self._keeper.pid

    def close(self) -> None:
        os.environ.pop(_SOCKET_VARIABLE, None)
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        try:
            self._keeper.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self, listener: socket.socket) -> subprocess.Popen[bytes]:
        descriptor = listener.fileno()
        return subprocess.Popen(
            [sys.executable, "-m", "tests.services.keeper", str(descriptor), str(self.directory)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(descriptor,),
            start_new_session=True,  # Ctrl-C is for the run; the keeper leaves after it
        )


def server_url(name: str) -> str | None:
    """Where the server is, started on first demand; None when this run starts no servers."""
    given = os.environ.get(URL_VARIABLES[name])
    keeper = os.environ.get(_SOCKET_VARIABLE)
    if given or keeper is None:
        return given or None
    os.environ[URL_VARIABLES[name]] = url = _ask(keeper, name)
    return url


def _ask(keeper: str, name: str) -> str:
    answer = ""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_START_SECONDS)
        connection.connect(keeper)
        connection.sendall(f"{name}\n".encode())
        answer = connection.makefile().readline().strip()
    verdict, _, text = answer.partition(" ")
    if verdict != "ok":
        raise ServiceError(text or f"the process that starts {name} for the tests has died")
    return text
