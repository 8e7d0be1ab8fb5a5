"""`make chaos`: run the scenarios, print one line each, and put the tables into the docs."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.services.postgres import PostgresServer

from chaos.catalogue import SCENARIOS
from chaos.entry import Entry
from chaos.lanes import LaneProcesses, Lanes
from chaos.report import Run, write_page
from chaos.scenario import Scenario

_DOCUMENT = Path(__file__).parents[1] / "docs" / "explanation" / "reliability.md"
_SCENARIO_SECONDS = 600.0
_LANES = 4


def main() -> None:
    options = _options()
    if options.list:
        for scenario in SCENARIOS:
            print(f"{scenario.name:40}{scenario.what}")
        return
    began = time.monotonic()
    entries = _run([one for one in SCENARIOS if _is_chosen(one, options)], options)
    run = Run(minutes=(time.monotonic() - began) / 60, lanes=options.lanes)
    if options.write:
        write_page(_DOCUMENT, entries, SCENARIOS, run)
    failed = [entry.scenario.name for entry in entries if not entry.passed and not entry.not_run]
    held, left = sum(entry.passed for entry in entries), sum(bool(entry.not_run) for entry in entries)
    also = f", {left} could not be run here" if left else ""
    print(f"\n{held} of {len(entries)} scenarios hold{also}; {run.minutes:.1f} minutes.")
    print("".join(f"  {one}\n" for one in failed), end="")
    sys.exit(bool(failed))


def _is_chosen(scenario: Scenario, options: argparse.Namespace) -> bool:
    if options.short and not scenario.in_short:
        return False
    return not options.only or any(word in scenario.name for word in options.only)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--short", action="store_true", help="the cut that runs in the tests")
    parser.add_argument("--only", action="append", metavar="WORD", help="scenarios whose name holds this word")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=_LANES, help=f"how many run at the same time ({_LANES})")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/explanation/reliability.md")
    return parser.parse_args()


def _run(chosen: list[Scenario], options: argparse.Namespace) -> list[Entry]:
    with tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)  # PostgreSQL runs as another user and has to pass through
        server = PostgresServer(Path(name) / "postgres")
        server.start()
        try:
            return asyncio.run(_in_lanes(chosen, server.url(), options))
        finally:
            server.kill()


async def _in_lanes(chosen: list[Scenario], postgres_url: str, options: argparse.Namespace) -> list[Entry]:
    number = max(1, min(options.lanes, len(chosen)))
    processes = LaneProcesses(
        number, postgres_url, seed=options.seed, short=options.short, limit_seconds=_SCENARIO_SECONDS
    )
    try:
        return await Lanes(number, processes.run, lambda one: print(one.line(), flush=True)).all(chosen)
    finally:
        processes.close()


if __name__ == "__main__":
    main()
