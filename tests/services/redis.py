"""A Redis server of our own that keeps nothing on disk."""

from __future__ import annotations

import shutil
import signal
import socket
from pathlib import Path

from tests.services.ports import free_port
from tests.services.server import Server, ServiceError

DATABASES = 64


class RedisServer:
    """It can be stopped and started again on the same port, and has then forgotten everything."""

    def __init__(self, directory: Path, *, port: int | None = None, also_at: str | None = None) -> None:
        self._addresses = ["127.0.0.1", *([also_at] if also_at else [])]
        self.port = free_port() if port is None else port
        self._directory = directory
        self._server = Server(self._command(), directory=directory, log=directory / "log")

    def url(self, database: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._server.start(self._is_ready)

    def stop(self) -> None:
        self._server.stop(signal.SIGTERM)

    def kill(self) -> None:
        self._server.stop(signal.SIGKILL)

    def _command(self) -> list[str]:
        program = shutil.which("redis-server")
        if program is None:
            raise ServiceError("Redis is not installed; install it or set POSTROOM_TEST_REDIS_URL")
        settings = {
            "bind": " ".join(self._addresses),
            "protected-mode": "no" if len(self._addresses) > 1 else "yes",
            "port": str(self.port),
            "dir": str(self._directory),
            "databases": str(DATABASES),
            "appendonly": "no",
            "save": "",
            "daemonize": "no",
        }
        return [program, *(word for name, value in settings.items() for word in (f"--{name}", *value.split(" ")))]

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
