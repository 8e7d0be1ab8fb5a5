"""The results as a table in the documentation, with the machine they were made on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from chaos import ledger_compare, overview
from chaos.attention import accounts
from chaos.catalogue import GROUPS
from chaos.content import posted
from chaos.described import commit, machine
from chaos.entry import Entry
from chaos.machines import counted
from chaos.questions import way_back
from chaos.scenario import About, Result, Scenario
from chaos.talks import said

OVERVIEW_BEGIN = "<!-- written by `make chaos`, the overview: begin -->"
OVERVIEW_END = "<!-- written by `make chaos`, the overview: end -->"
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
class Run:
    """All of it, however many scenarios were chosen."""

    minutes: float
    lanes: int


def write_page(document: Path, entries: Sequence[Entry], order: Sequence[Scenario], run: Run) -> None:
    """The tables of what was run, and the overview of everything that then stands in them."""
    write_table(document, entries, order)
    text = document.read_text()
    found = {about: overview.rows_in(text, begin, end) for about, (begin, end) in _MARKS.items()}
    ran = {entry.scenario.what for entry in entries}
    lines = [_made(run, len(ran), len(order)), "", *overview.table(GROUPS, found, ran)]
    document.write_text(_between(text, OVERVIEW_BEGIN, OVERVIEW_END, "\n".join(lines)))


def _made(run: Run, ran: int, known: int) -> str:
    earlier = f", {known - ran} of {known} scenarios earlier" if ran < known else ""
    how = f"{run.minutes:.1f} minutes in {run.lanes} lanes"
    return f"Made on {datetime.now(UTC):%Y-%m-%d} from {commit()} in {how}{earlier}: {machine()}."


def write_table(document: Path, entries: Sequence[Entry], order: Sequence[Scenario] = ()) -> None:
    """Each table between its own marks; rows of scenarios in `order` that were not run stay as they are."""
    text = document.read_text()
    for about, (begin, end) in _MARKS.items():
        if mine := [entry for entry in entries if entry.scenario.about is about]:
            old = text.partition(begin)[2].partition(end)[0]
            kept = _kept(old, mine, [one for one in order if one.about is about])
            text = _between(text, begin, end, table(mine, about, kept, order))
    document.write_text(text)


def _between(text: str, begin: str, end: str, new: str) -> str:
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{new}\n{end}{rest.partition(end)[2]}"


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
    return f"| {entry.scenario.what} | {numbers} | {_note(entry.result)} |"


def _note(result: Result) -> str:
    """What a scenario expected beside the numbers and did not find is said, too."""
    said = [] if result.passed else [f"{overview.FAILED}{' '.join(result.said[:1]).replace('|', '/')[:120]}"]
    return "; ".join([*([result.note] if result.note else []), *said])
