"""`make chaos`: run the scenarios, print one line each, and put the table into the docs."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.services.postgres import PostgresServer

from chaos.catalogue import SCENARIOS
from chaos.processes import Processes
from chaos.report import Entry, write_table
from chaos.scenario import NotPermitted, Scenario, World

_DOCUMENT = Path(__file__).parents[1] / "docs" / "explanation" / "reliability.md"
_SCENARIO_SECONDS = 420.0


def main() -> None:
    options = _options()
    if options.list:
        for scenario in SCENARIOS:
            print(f"{scenario.name:32}{scenario.what}")
        return
    chosen = [one for one in SCENARIOS if _is_chosen(one, options)]
    with tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)  # PostgreSQL runs as another user and has to pass through
        server = PostgresServer(Path(name) / "postgres")
        server.start()
        try:
            entries = asyncio.run(_run_all(chosen, server.url(), seed=options.seed, short=options.short))
        finally:
            server.kill()
    if options.write:
        write_table(_DOCUMENT, entries, SCENARIOS)
    failed = [entry.scenario.name for entry in entries if not entry.passed and not entry.not_run]
    held, left = sum(entry.passed for entry in entries), sum(bool(entry.not_run) for entry in entries)
    also = f", {left} could not be run here" if left else ""
    print(f"\n{held} of {len(entries)} scenarios hold{also}." + "".join(f"\n  {one}" for one in failed))
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
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into docs/explanation/reliability.md")
    return parser.parse_args()


async def _run_all(scenarios: list[Scenario], postgres_url: str, *, seed: int, short: bool) -> list[Entry]:
    processes = Processes()
    try:
        world = World(processes=processes, postgres_url=postgres_url, seed=seed, short=short)
        return [await _run(scenario, world) for scenario in scenarios]
    finally:
        processes.close()


async def _run(scenario: Scenario, world: World) -> Entry:
    started = time.monotonic()
    try:
        async with asyncio.timeout(_SCENARIO_SECONDS):
            result = await scenario.run(world)
    except NotPermitted as error:
        entry = Entry(scenario=scenario, result=None, not_run=str(error), seconds=time.monotonic() - started)
    except Exception as error:  # one broken scenario must not hide the others
        entry = Entry(scenario=scenario, result=None, error=repr(error), seconds=time.monotonic() - started)
    else:
        entry = Entry(scenario=scenario, result=result, seconds=time.monotonic() - started)
    print(entry.line(), flush=True)
    return entry


if __name__ == "__main__":
    main()
