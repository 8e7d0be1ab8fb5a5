"""A PostgreSQL server of our own, in a directory of our own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

from tests.services.ports import free_port
from tests.services.server import Server, ServiceError, run_as

DATABASE = "butlers"
_QUICK = {"synchronous_commit": "off", "full_page_writes": "off", "jit": "off", "autovacuum": "off"}
_DEBIAN_VERSIONS = Path("/usr/lib/postgresql")


class PostgresServer:
    """
    It can be stopped, killed and started again on the same data.

    `durable` as in production, with fsync; where nobody cuts the power it only costs time.
    `network` is one more network of this machine whose hosts may come, such as `198.18.1.1/24`.
    """

    def __init__(
        self, directory: Path, *, port: int | None = None, durable: bool = True, network: str | None = None
    ) -> None:
        self._durable = durable
        self._network = network
        self.port = free_port() if port is None else port
        self._programs = find_programs()
        self._user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
        self._directory = directory
        self._data = directory / "data"
        self._server = Server(self._command(), directory=directory, log=directory / "log", user=self._user)

    def url(self, database: str = DATABASE) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        return self._server.pid

    def start(self) -> None:
        is_new = not self._data.exists()
        if is_new:
            self._initialise()
        self._server.start(self._is_ready)
        if is_new:
            self._run("createdb", *self._address(), "--username=postgres", DATABASE)

    def stop(self) -> None:
        """Orderly, but without waiting for clients to leave."""
        self._server.stop(signal.SIGINT)

    def kill(self) -> None:
        """As if the power had failed: what was committed must be there after the next start."""
        self._server.stop(signal.SIGQUIT)

    def _initialise(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            _hand_over(self._directory, self._user)
        self._run(
            "initdb",
            f"--pgdata={self._data}",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        )
        if self._network is not None:
            with (self._data / "pg_hba.conf").open("a") as rules:
                rules.write(f"host all all {self._network} trust\n")

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": ",".join(["127.0.0.1", *([self._network.split("/")[0]] if self._network else [])]),
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "on" if self._durable else "off",
            "max_connections": "300",
            "shared_buffers": "64MB",
            **({} if self._durable else _QUICK),
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(self._programs / "postgres"), "-D", str(self._data), *options]

    def _is_ready(self) -> bool:
        probe = [str(self._programs / "pg_isready"), "--quiet", *self._address(), "--timeout=1"]
        return subprocess.run(probe, cwd=self._directory, check=False).returncode == 0

    def _address(self) -> list[str]:
        return ["--host=127.0.0.1", f"--port={self.port}"]

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self._directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **run_as(self._user),
        )
        if done.returncode != 0:
            raise ServiceError(f"{program} failed: {done.stderr.strip()}")


def find_programs() -> Path:
    """The directory of the server's programs; Debian keeps them off the PATH."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    versions = sorted(_DEBIAN_VERSIONS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not versions:
        raise ServiceError("PostgreSQL is not installed; install it or set POSTROOM_TEST_POSTGRES_URL")
    return versions[-1].parent


def _hand_over(directory: Path, user: str) -> None:
    try:
        owner = pwd.getpwnam(user)
    except KeyError:
        raise ServiceError(f"PostgreSQL does not run as root, and there is no user '{user}' to run it as") from None
    os.chown(directory, owner.pw_uid, owner.pw_gid)
