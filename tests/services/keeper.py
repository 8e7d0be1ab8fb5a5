"""
A process that starts servers when a test first asks for them, and stops them when the test run is gone.

The run holds the other end of the keeper's standard input. However the run
ends, by itself, by Ctrl-C or by SIGKILL, that pipe closes and the keeper clears up.
"""

from __future__ import annotations

import contextlib
import selectors
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from tests.services.postgres import PostgresServer
from tests.services.redis import RedisServer
from tests.services.server import ServiceError

SERVERS: dict[str, Callable[[Path], PostgresServer | RedisServer]] = {
    "postgres": partial(PostgresServer, durable=False),  # who cuts the power has a server of their own
    "redis": RedisServer,
}
_ASK_SECONDS = 5.0


class Keeper:
    def __init__(self, listener: socket.socket, directory: Path) -> None:
        self._listener = listener
        self._directory = directory
        self._running: dict[str, PostgresServer | RedisServer] = {}

    def serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(sys.stdin, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if sys.stdin in ready:
                    return
                self._answer_one()

    def close(self) -> None:
        for server in self._running.values():
            server.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _answer_one(self) -> None:
        connection, _ = self._listener.accept()
        with connection, contextlib.suppress(OSError):  # whoever asked may be gone by now
            connection.settimeout(_ASK_SECONDS)
            try:
                answer = f"ok {self._url(connection.makefile().readline().strip())}"
            except ServiceError as error:
                answer = f"error {error}"
            connection.sendall(f"{answer}\n".encode())

    def _url(self, name: str) -> str:
        if name not in self._running:
            server = SERVERS[name](self._directory / name)
            server.start()
            self._running[name] = server
        return self._running[name].url()


def main() -> None:
    descriptor, directory = sys.argv[1:]
    keeper = Keeper(socket.socket(fileno=int(descriptor)), Path(directory))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        keeper.serve()
    finally:
        keeper.close()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
