"""The results as a table in the documentation, with the machine they were made on."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.services.postgres import find_programs

from chaos import ledger_compare
from chaos.attention import accounts
from chaos.content import posted
from chaos.machines import counted
from chaos.questions import way_back
from chaos.scenario import About, Result, Scenario
from chaos.talks import said

BEGIN = "<!-- written by `make chaos`: begin -->"
END = "<!-- written by `make chaos`: end -->"
QUESTIONS_BEGIN = "<!-- written by `make chaos`, the way back: begin -->"
QUESTIONS_END = "<!-- written by `make chaos`, the way back: end -->"
ATTENTION_BEGIN = "<!-- written by `make chaos`, attention: begin -->"
ATTENTION_END = "<!-- written by `make chaos`, attention: end -->"
TALKS_BEGIN = "<!-- written by `make chaos`, conversations: begin -->"
TALKS_END = "<!-- written by `make chaos`, conversations: end -->"
CONTENT_BEGIN = "<!-- written by `make chaos`, content: begin -->"
CONTENT_END = "<!-- written by `make chaos`, content: end -->"
MACHINES_BEGIN = "<!-- written by `make chaos`, machines: begin -->"
MACHINES_END = "<!-- written by `make chaos`, machines: end -->"
_MARKS = {
    About.DELIVERIES: (BEGIN, END),
    About.QUESTIONS: (QUESTIONS_BEGIN, QUESTIONS_END),
    About.ATTENTION: (ATTENTION_BEGIN, ATTENTION_END),
    About.TALKS: (TALKS_BEGIN, TALKS_END),
    About.CONTENT: (CONTENT_BEGIN, CONTENT_END),
    About.MACHINES: (MACHINES_BEGIN, MACHINES_END),
}
_COLUMNS = {
    About.DELIVERIES: ledger_compare.COLUMNS,
    About.QUESTIONS: way_back.COLUMNS,
    About.ATTENTION: accounts.COLUMNS,
    About.TALKS: said.COLUMNS,
    About.CONTENT: posted.COLUMNS,
    About.MACHINES: counted.COLUMNS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    scenario: Scenario
    result: Result | None
    seconds: float
    error: str = ""
    not_run: str = ""  # why this host cannot run it

    @property
    def passed(self) -> bool:
        return self.result is not None and self.result.passed

    def line(self) -> str:
        word = "ok  " if self.passed else "none" if self.not_run else "FAIL"
        head = f"{word} {self.scenario.name:34}{self.seconds:6.1f} s  "
        if self.result is None:
            return head + (f"not run: {self.not_run}" if self.not_run else self.error)
        note = f" ({self.result.note})" if self.result.note else ""
        return head + self.result.comparison.line() + note + "".join(f"\n       {one}" for one in self.result.said[:8])


def write_table(document: Path, entries: Sequence[Entry], order: Sequence[Scenario] = ()) -> None:
    """Each table between its own marks; rows of scenarios in `order` that were not run stay as they are."""
    text = document.read_text()
    for about, (begin, end) in _MARKS.items():
        if mine := [entry for entry in entries if entry.scenario.about is about]:
            before, _, rest = text.partition(begin)
            old, _, after = rest.partition(end)
            kept = _kept(old, mine, [one for one in order if one.about is about])
            text = f"{before}{begin}\n{table(mine, about, kept, order)}\n{end}{after}"
    document.write_text(text)


def table(entries: Sequence[Entry], about: About, kept: Mapping[str, str], order: Sequence[Scenario]) -> str:
    columns = _COLUMNS[about]
    rows = {**kept, **{entry.scenario.what: _row(entry, len(columns)) for entry in entries}}
    places = {scenario.what: place for place, scenario in enumerate(order)}
    some = f", {len(kept)} of {len(rows)} rows earlier" if kept else ""
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d}{some}: {machine()}.",
        "",
        f"| what was done | {' | '.join(columns)} | how much |",
        f"|---|{'--:|' * len(columns)}---|",
    ]
    return "\n".join([*lines, *(rows[what] for what in sorted(rows, key=lambda what: places.get(what, 0)))])


def _kept(old: str, entries: Sequence[Entry], order: Sequence[Scenario]) -> dict[str, str]:
    """The rows of what there still is and was not run now."""
    rows = {line.split("|")[1].strip(): line for line in old.splitlines() if line.startswith("| ")}
    others = {one.what for one in order} - {entry.scenario.what for entry in entries}
    return {what: row for what, row in rows.items() if what in others}


def _row(entry: Entry, columns: int) -> str:
    if entry.result is None:
        said = f"not run: {entry.not_run}" if entry.not_run else "did not finish"
        return f"| {entry.scenario.what} {'| ' * columns}| {said} |"
    numbers = " | ".join(f"{number:,}" for number in entry.result.comparison.numbers)
    return f"| {entry.scenario.what} | {numbers} | {entry.result.note} |"


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
