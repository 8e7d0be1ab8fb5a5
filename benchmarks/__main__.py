"""`make bench`: the figures the documentation quotes, as ratios within one run."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import uvloop
from tests.services.postgres import PostgresServer

from benchmarks import delivery
from postroom.app.garbage import collect_less_often
from postroom.telemetry import log, trace

ROUNDS = int(os.environ.get("ROUNDS", "3"))
COUNT = int(os.environ.get("COUNT", "5000"))
PARTS = ("delivery", "history", "door", "scaling", "console", "inbox", "intents", "desk")


async def both_databases(sqlite_url: str, postgres_url: str) -> None:
    await delivery.measure("sqlite", sqlite_url, rounds=ROUNDS, count=COUNT)
    await delivery.measure("postgres", postgres_url, rounds=ROUNDS, count=COUNT)


def delivery_plane() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder) / "postgres")
        server.start()
        try:
            uvloop.run(both_databases(f"sqlite:///{folder}/bench.db", server.url("butlers")))
        finally:
            server.stop()


def main() -> None:
    collect_less_often()  # as `postroom up` does
    log.configure("WARNING")
    trace.configure(None)
    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(f"{platform.machine()}, {cores} cores, load {load:.1f}, Python {platform.python_version()}, {ROUNDS} rounds")
    for part in sys.argv[1:] or PARTS:
        print(f"\n{part}")
        delivery_plane() if part == "delivery" else import_module(f"benchmarks.{part}").main()


if __name__ == "__main__":
    main()
