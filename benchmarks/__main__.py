"""`make bench`: every figure the documentation quotes, as ratios within one run."""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path

import uvloop
from tests.services.postgres import PostgresServer

from benchmarks import delivery
from postroom.telemetry import log, trace

ROUNDS = int(os.environ.get("ROUNDS", "3"))
COUNT = int(os.environ.get("COUNT", "5000"))


async def delivery_plane(sqlite_url: str, postgres_url: str) -> None:
    await delivery.measure("sqlite", sqlite_url, rounds=ROUNDS, count=COUNT)
    await delivery.measure("postgres", postgres_url, rounds=ROUNDS, count=COUNT)


def main() -> None:
    log.configure("WARNING")
    trace.configure(None)
    cores = os.cpu_count()
    print(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}; medians of {ROUNDS} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder) / "postgres")
        server.start()
        try:
            uvloop.run(delivery_plane(f"sqlite:///{folder}/bench.db", server.url("butlers")))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
