"""The results as a table in the documentation, with the machine they were made on."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.services.postgres import find_programs

from chaos.scenario import Result, Scenario

BEGIN = "<!-- written by `make chaos`: begin -->"
END = "<!-- written by `make chaos`: end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    scenario: Scenario
    result: Result | None
    seconds: float
    error: str = ""

    @property
    def passed(self) -> bool:
        return self.result is not None and self.result.passed

    def line(self) -> str:
        head = f"{'ok  ' if self.passed else 'FAIL'} {self.scenario.name:34}{self.seconds:6.1f} s  "
        if self.result is None:
            return head + self.error
        note = f" ({self.result.note})" if self.result.note else ""
        return head + self.result.comparison.line() + note + "".join(f"\n       {one}" for one in self.result.said[:8])


def write_table(document: Path, entries: Sequence[Entry]) -> None:
    text = document.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    document.write_text(f"{before}{BEGIN}\n{table(entries)}\n{END}{after}")


def table(entries: Sequence[Entry]) -> str:
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d}: {machine()}.",
        "",
        "| what was done | accepted | delivered | held | lost | duplicates marked | duplicates unmarked "
        "| uncertain explained | unexplained | how much |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for entry in entries:
        lines.append(_row(entry))
    return "\n".join(lines)


def _row(entry: Entry) -> str:
    if entry.result is None:
        return f"| {entry.scenario.what} | did not finish |||||||||"
    told, note = entry.result.comparison, entry.result.note
    numbers = (
        told.accepted,
        told.delivered,
        told.held,
        told.lost,
        told.duplicates_marked,
        told.duplicates_unmarked,
        told.uncertain_explained,
        told.uncertain_unexplained,
    )
    return f"| {entry.scenario.what} | {' | '.join(f'{number:,}' for number in numbers)} | {note} |"


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return ", ".join(
        [
            f"{os.cpu_count()} cores",
            f"{memory:.0f} GB",
            f"{platform.system()} {platform.release().split('-')[0]}",
            f"Python {platform.python_version()}",
            f"SQLite {sqlite3.sqlite_version}",
            _version([str(find_programs() / "postgres"), "--version"], 2, "PostgreSQL"),
            _version([shutil.which("redis-server") or "redis-server", "--version"], 2, "Redis"),
        ]
    )


def _version(command: list[str], place: int, name: str) -> str:
    try:
        words = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split()
        return f"{name} {words[place].removeprefix('v=')}"
    except (OSError, subprocess.SubprocessError, IndexError):
        return f"no {name}"
