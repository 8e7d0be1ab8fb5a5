"""A PgBouncer of our own in transaction mode, in front of a PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

from tests.services.ports import free_port
from tests.services.server import Server, ServiceError


class PgBouncer:
    """Few server connections on purpose, so that neighbouring transactions land on different ones."""

    def __init__(
        self, directory: Path, server_url: str, *, server_connections: int = 3, also_at: str | None = None
    ) -> None:
        self._addresses = ["127.0.0.1", *([also_at] if also_at else [])]
        self.port = free_port()
        self._behind = urlsplit(server_url)
        self._connections = server_connections
        self._directory = directory
        self._user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        self._server = Server(
            [find_program(), str(directory / "pgbouncer.ini")],
            directory=directory,
            log=directory / "log",
            user=self._user,
        )

    @property
    def url(self) -> str:
        return self._behind._replace(netloc=f"postgres@127.0.0.1:{self.port}").geturl()

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        settings = {
            "listen_addr": ",".join(self._addresses),
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": "transaction",
            "default_pool_size": self._connections,
            "max_client_conn": 300,
        }
        lines = [
            "[databases]",
            f"* = host={self._behind.hostname} port={self._behind.port} user={self._behind.username}",
            "[pgbouncer]",
            *(f"{name} = {value}" for name, value in settings.items()),
        ]
        (self._directory / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        (self._directory / "pgbouncer.ini").chmod(0o644)
        self._server.start(self._is_ready)

    def stop(self) -> None:
        self._server.stop(signal.SIGTERM)

    def _is_ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False


def find_program() -> str:
    """Debian keeps it where only root's PATH looks."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise ServiceError("PgBouncer is not installed: apt-get install pgbouncer")
    return found
