"""`make bench`: the figures the documentation quotes, as ratios within one run."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module

from postroom.kernel.running import telemetry
from postroom.kernel.running.process import collect_less_often
from postroom.kernel.running.terminal import bar

ROUNDS = int(os.environ.get("ROUNDS", "3"))
PARTS = (
    *("delivery", "ask", "attention", "growth", "door", "scaling", "pruning", "console", "inbox", "intents", "desk"),
    *("cli", "start"),
)


def main() -> None:
    collect_less_often()  # as `postroom up` does
    telemetry.configure_log("WARNING")
    telemetry.configure_tracing(None)
    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(f"{platform.machine()}, {cores} cores, load {load:.1f}, Python {platform.python_version()}, {ROUNDS} rounds")
    parts = sys.argv[1:] or PARTS
    with bar("Measuring") as show:
        for number, part in enumerate(parts):
            show(number, len(parts))
            print(f"\n{part}")
            import_module(f"benchmarks.{part}").main()


if __name__ == "__main__":
    main()
