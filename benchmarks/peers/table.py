"""The figures as a table in the documentation, between two marks."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.peers.figures import Figures, known, percentile, verdicts

BEGIN = "<!-- written by `make bench-peers`: begin -->"
END = "<!-- written by `make bench-peers`: end -->"


def write_between(document: Path, begin: str, end: str, text: str) -> None:
    """What stands around the marks is somebody's prose and stays as it is."""
    before, found, rest = document.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{document.name} has no place for this: {begin}")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def table(figures: Sequence[Figures], machine: str, rounds: int, minutes: float) -> str:
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d} in {minutes:.0f} minutes, {rounds} interleaved rounds, "
        f"medians (lowest–highest): {machine}.",
        "",
        "| who | 200 callers, a job in each call: jobs/s | CPU of the client, µs/job | handed in 100 at a time: jobs/s "
        "| accept→sent at 50/s, p50 / p99 ms |",
        "|---|--:|--:|--:|--:|",
        *(_row(one) for one in figures),
        "",
        "![Jobs per second](performance.svg)",
        "",
        *(f"- **{'Met' if verdict.met else 'Missed'}**: {verdict.text}." for verdict in verdicts(figures)),
        "",
        *(f"- {one.contender.name}: {one.contender.how}." for one in figures),
    ]
    return "\n".join(lines)


def _row(one: Figures) -> str:
    name = f"**{one.contender.name}**" if one.contender.name == "Postroom" else one.contender.name
    cells = [
        f"{name} {one.version}".strip(),
        spread(one.callers),
        f"{statistics.median(one.cpu_us):,.0f}" if one.cpu_us else "–",
        spread(one.batches),
        latency(one.milliseconds),
    ]
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float | None]) -> str:
    if not values:
        return "–"
    done = known(values)
    if not done:
        return "did not finish"
    note = "" if len(done) == len(values) else f", {len(values) - len(done)} did not finish"
    return f"{statistics.median(done):,.0f} ({min(done):,.0f}–{max(done):,.0f}{note})"


def latency(milliseconds: Sequence[float]) -> str:
    if len(milliseconds) < 2:
        return "–"
    return f"{percentile(milliseconds, 50):,.1f} / {percentile(milliseconds, 99):,.1f}"
