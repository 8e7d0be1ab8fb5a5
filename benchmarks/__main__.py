"""`make bench`: the figures the documentation quotes, as ratios within one run."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module

import uvloop

from benchmarks import delivery
from benchmarks.temporary_postgres import temporary_postgres
from postroom.cli.progress import bar
from postroom.system.garbage import collect_less_often
from postroom.system.telemetry import log, trace

ROUNDS = int(os.environ.get("ROUNDS", "3"))
COUNT = int(os.environ.get("COUNT", "5000"))
PARTS = (
    *("delivery", "ask", "attention", "growth", "door", "scaling", "pruning", "console", "inbox", "intents", "desk"),
    *("cli", "start"),
)


async def both_databases(sqlite_url: str, postgres_url: str) -> None:
    await delivery.measure("sqlite", sqlite_url, rounds=ROUNDS, count=COUNT)
    await delivery.measure("postgres", postgres_url, rounds=ROUNDS, count=COUNT)


def delivery_plane() -> None:
    with temporary_postgres() as (server, folder):
        uvloop.run(both_databases(f"sqlite:///{folder}/bench.db", server.url("butlers")))


def main() -> None:
    collect_less_often()  # as `postroom up` does
    log.configure("WARNING")
    trace.configure(None)
    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(f"{platform.machine()}, {cores} cores, load {load:.1f}, Python {platform.python_version()}, {ROUNDS} rounds")
    parts = sys.argv[1:] or PARTS
    with bar("Measuring") as show:
        for number, part in enumerate(parts):
            show(number, len(parts))
            print(f"\n{part}")
            delivery_plane() if part == "delivery" else import_module(f"benchmarks.{part}").main()


if __name__ == "__main__":
    main()
