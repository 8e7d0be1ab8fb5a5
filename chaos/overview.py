"""One line for each way of breaking things, summed from the rows of the tables as they stand in the page."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chaos.catalogue import Group
from chaos.scenario import About, Scenario

COLUMNS: Final = (
    "scenarios",
    "hold",
    "times broken",
    "messages, questions, notices",
    "lost",
    "twice, marked",
    "twice, unmarked",
    "two winners",
    "other harm",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Which columns of a table are added up for which of the overview."""

    handled: tuple[int, ...]
    lost: tuple[int, ...]
    marked: tuple[int, ...]
    unmarked: tuple[int, ...]
    winners: tuple[int, ...] = ()
    other: tuple[int, ...] = ()


PLACES: Final = {
    About.DELIVERIES: Places(handled=(0,), lost=(3,), marked=(4,), unmarked=(5,), other=(7,)),
    About.QUESTIONS: Places(handled=(0,), lost=(3,), marked=(4,), unmarked=(5,), winners=(2,), other=(7, 8)),
    About.ATTENTION: Places(handled=(0,), lost=(2,), marked=(3,), unmarked=(4,), other=(5, 6, 7, 8)),
    About.TALKS: Places(handled=(0,), lost=(3,), marked=(4,), unmarked=(5,), other=(6, 7)),
    About.CONTENT: Places(handled=(0, 1), lost=(2,), marked=(3,), unmarked=(4, 5), other=(6,)),
    About.MACHINES: Places(handled=(0, 6), lost=(3, 9), marked=(4, 10), unmarked=(5, 11), winners=(8,)),
}
FAILED: Final = "failed: "
_BROKEN: Final = re.compile(r"([\d,]+) (?:kills|restarts|times|signals|troubles|jumps|workers died|of [\d,]+ callers)")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; without numbers it did not finish, or was not run."""

    numbers: tuple[int, ...]
    note: str

    @property
    def times(self) -> int:
        """A fault that lasts all the time counts once."""
        found = _BROKEN.search(self.note)
        return int(found[1].replace(",", "")) if found else 1

    def added(self, places: Iterable[int]) -> int:
        return sum(self.numbers[place] for place in places)


def rows_in(text: str, begin: str, end: str) -> dict[str, Row]:
    """By what was done."""
    between = text.partition(begin)[2].partition(end)[0]
    lines = [line for line in between.splitlines() if line.startswith("| ")]
    return dict(_row([cell.strip() for cell in line.strip("|").split("|")]) for line in lines[1:])


def _row(cells: list[str]) -> tuple[str, Row]:
    what, *numbers, note = cells
    return what, Row(tuple(int(one.replace(",", "")) for one in numbers if one), note)


def table(groups: Sequence[Group], found: Mapping[About, Mapping[str, Row]], ran: Collection[str]) -> list[str]:
    """`ran` is what is of this run; a line with older rows says how many they are."""
    head = [f"| what was broken | {' | '.join(COLUMNS)} |", f"|---|{'--:|' * len(COLUMNS)}"]
    lines = [line(group, found, ran) for group in groups]
    everything = Group("**everything**", [scenario for group in groups for scenario in group.scenarios])
    return [*head, *lines, line(everything, found, ran)]


def line(group: Group, found: Mapping[About, Mapping[str, Row]], ran: Collection[str]) -> str:
    rows = [(one, found[one.about].get(one.what, Row((), ""))) for one in group.scenarios]
    numbers = sums([(PLACES[scenario.about], row) for scenario, row in rows if row.numbers])
    older = sum(one.what not in ran for one, row in rows if row.numbers)
    notes = [*_older(older, len(rows)), *_missing(sum(not row.numbers for _, row in rows))]
    title = group.title + (f" ({', '.join(notes)})" if notes else "")
    return f"| {title} | {' | '.join(f'{number:,}' for number in (len(rows), _holding(rows), *numbers))} |"


def _older(older: int, known: int) -> list[str]:
    return [f"{older} of {known} of an earlier run" if older < known else "of an earlier run"] if older else []


def _missing(number: int) -> list[str]:
    """Not run, here or ever, or not finished: the table says which."""
    return [f"{number} without figures"] if number else []


def sums(rows: Sequence[tuple[Places, Row]]) -> tuple[int, ...]:
    """As in the columns, from `times broken` on."""
    return (
        sum(row.times for _, row in rows),
        sum(row.added(places.handled) for places, row in rows),
        sum(row.added(places.lost) for places, row in rows),
        sum(row.added(places.marked) for places, row in rows),
        sum(row.added(places.unmarked) for places, row in rows),
        sum(row.added(places.winners) for places, row in rows),
        sum(row.added(places.other) for places, row in rows),
    )


def _holding(rows: Sequence[tuple[Scenario, Row]]) -> int:
    return sum(_holds(PLACES[scenario.about], row) for scenario, row in rows)


def _holds(places: Places, row: Row) -> bool:
    """It finished, without harm, and found everything else as it expected."""
    harmful = (*places.lost, *places.unmarked, *places.winners, *places.other)
    return bool(row.numbers) and FAILED not in row.note and not row.added(harmful)
