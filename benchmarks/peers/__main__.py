"""`make bench-peers`: the race of queues, each in a process of its own, then the race of asking; then the tables."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaos.described import machine

from benchmarks.peers.asking import page as asking_page
from benchmarks.peers.asking.race import Size, race
from benchmarks.peers.chart import chart
from benchmarks.peers.contenders import CONTENDERS, Contender
from benchmarks.peers.figures import Figures, verdicts
from benchmarks.peers.ground import Servers, running_servers
from benchmarks.peers.table import BEGIN, END, table, write_between

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "performance.md"
ASKING = "asking"  # the race that is not about queues
_PATIENCE_SECONDS = 300
_WARM_UP_CALLS = 50  # the first second of the latency stream


def main() -> None:
    asked = _asked()
    chosen = [one for one in CONTENDERS if not asked.only or one.name.lower() in asked.only]
    with running_servers() as servers:
        if chosen:
            _race_queues(chosen, servers, asked)
        if not asked.only or ASKING in asked.only:
            _race_asking(servers, asked)


def _race_queues(chosen: Sequence[Contender], servers: Servers, asked: argparse.Namespace) -> None:
    began = time.monotonic()
    figures = [Figures(contender=one, version=_version(one.package, asked.peers)) for one in chosen]
    for number in range(asked.rounds):
        print(f"round {number + 1} of {asked.rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
        for one in figures[number % len(figures) :] + figures[: number % len(figures)]:
            _round(one, servers, asked)
    text = table(figures, machine(), asked.rounds, (time.monotonic() - began) / 60)
    print(text)
    if not asked.dry:
        write_between(PAGE, BEGIN, END, text)
        PAGE.with_suffix(".svg").write_text(chart(figures))
    for verdict in verdicts(figures):
        print(f"{'met   ' if verdict.met else 'MISSED'} {verdict.text}")


def _race_asking(servers: Servers, asked: argparse.Namespace) -> None:
    began = time.monotonic()
    size = Size.of(asked.rounds, asked.scale)
    made = race(servers.postgres, asked.peers, size, lambda one: _version(one.package, asked.peers))
    text = asking_page.page(made, machine(), asked.rounds, (time.monotonic() - began) / 60)
    print(text)
    if not asked.dry:
        write_between(PAGE, asking_page.BEGIN, asking_page.END, text)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=6, help="of the latency stream, its first one not counted")
    parser.add_argument("--scale", type=float, default=1.0, help="0.2: a fifth of the jobs, for a quick look")
    parser.add_argument("--only", nargs="*", default=[], type=str.lower, help=f"names of contenders, or {ASKING}")
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the peers")
    parser.add_argument("--dry", action="store_true", help="leave the documentation as it is")
    return parser.parse_args()


def _round(one: Figures, servers: Servers, asked: argparse.Namespace) -> None:
    for what in one.contender.measures:
        with servers.fresh(one.contender) as url:
            answer = _run(one.contender, what, url, asked)
        if what == "latency":
            one.milliseconds += answer.get("milliseconds", [])[_WARM_UP_CALLS:]
        else:
            getattr(one, what).append(answer.get("per_second"))
            one.cpu_us += [answer["cpu_us"]] if what == "callers" and answer else []
        told = f"{answer['per_second']:,.0f}/s" if "per_second" in answer else ("" if answer else "did not finish")
        print(f"  {one.contender.name:<14}{what:<9}{told}", flush=True)


def _run(contender: Contender, what: str, url: str, asked: argparse.Namespace) -> dict[str, Any]:
    """Empty when it failed; what it said then goes to our own error stream."""
    python = sys.executable if contender.ours else asked.peers
    count = max(200, round(contender.jobs * asked.scale))
    command = [python, "-m", contender.module, what, url, f"--count={count}", f"--seconds={asked.seconds}"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}" if contender.ours else str(ROOT)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=True, env=environment, cwd=ROOT
        )
    except subprocess.SubprocessError as error:
        print(getattr(error, "stderr", None) or error, file=sys.stderr)
        return {}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _version(package: str, python: str) -> str:
    if not package:
        return ""
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    done: Sequence[str] = subprocess.run(
        [python, "-c", asked], capture_output=True, text=True, timeout=60, check=True
    ).stdout.split()
    return done[0]


if __name__ == "__main__":
    main()
