"""Hold the provider's ledger against ours: what was lost, what came twice, and what nobody can explain."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Final

from chaos.journal import Entry, Step
from chaos.tokens import Copies


class Cause(StrEnum):
    """What a scenario does that can leave an outcome unknown."""

    PROCESS = "process"  # processes die
    PROVIDER = "provider"  # calls to the provider are cut off
    STORE = "store"  # the database gives no answer, perhaps for longer than a lease
    CLOCK = "clock"  # leases seem to run out early


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A delivery as our ledger has it."""

    token: str
    parts: int
    status: str
    possible_duplicate: bool
    uncertain_attempts: int


COLUMNS: Final = (
    "accepted",
    "delivered",
    "held",
    "lost",
    "duplicates marked",
    "duplicates unmarked",
    "uncertain explained",
    "unexplained",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    accepted: int = 0  # the caller was told so
    delivered: int = 0
    held: int = 0  # in the dead letters, for a person to decide
    failed: int = 0
    lost: int = 0
    duplicates_marked: int = 0
    duplicates_unmarked: int = 0
    uncertain_explained: int = 0
    uncertain_unexplained: int = 0
    complaints: tuple[str, ...] = field(default=())

    @property
    def sound(self) -> bool:
        return self.lost == 0 and self.duplicates_unmarked == 0 and self.uncertain_unexplained == 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """As in the columns of the table."""
        return (
            self.accepted,
            self.delivered,
            self.held,
            self.lost,
            self.duplicates_marked,
            self.duplicates_unmarked,
            self.uncertain_explained,
            self.uncertain_unexplained,
        )

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def line(self) -> str:
        return (
            f"accepted {self.accepted} · lost {self.lost} · duplicates marked {self.duplicates_marked} · "
            f"duplicates unmarked {self.duplicates_unmarked} · uncertain explained {self.uncertain_explained} · "
            f"unexplained {self.uncertain_unexplained}"
        )


def compare(
    rows: Iterable[Row], copies: Copies, journal: Sequence[Entry], causes: frozenset[Cause] = frozenset()
) -> Comparison:
    by_token: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_token[row.token].append(row)
    accepted = {entry.token for entry in journal if entry.step is Step.ANSWER and entry.detail == "stored"}
    complaints = _losses(accepted, by_token, copies)
    marked, unmarked = _duplicates(by_token, copies)
    unexplained = _unexplained(by_token, explanations(journal, causes))
    statuses = Counter(row.status for found in by_token.values() for row in found)
    uncertain = sum(row.uncertain_attempts for found in by_token.values() for row in found)
    return Comparison(
        accepted=len(accepted),
        delivered=statuses["delivered"],
        held=statuses["dead_lettered"],
        failed=statuses["failed"],
        lost=len(complaints),
        duplicates_marked=len(marked),
        duplicates_unmarked=len(unmarked),
        uncertain_explained=uncertain - sum(unexplained.values()),
        uncertain_unexplained=sum(unexplained.values()),
        complaints=(
            *complaints,
            *(f"{token} came more than once, unmarked" for token in unmarked),
            *(f"{token} has {number} unexplained outcomes" for token, number in unexplained.items()),
        ),
    )


def explanations(journal: Iterable[Entry], causes: frozenset[Cause]) -> Counter[str]:
    """How many unknown outcomes of each message the injected faults account for."""
    found: Counter[str] = Counter()
    under_way: set[tuple[int, str]] = set()  # marked by a process that has not settled it
    for entry in journal:
        passage = (entry.process, entry.token)
        match entry.step:
            case Step.MARK:
                under_way.add(passage)
            case Step.NOT_MARKED | Step.SETTLED:
                under_way.discard(passage)
            case Step.UNCERTAIN if Cause.PROVIDER in causes:
                found[entry.token] += 1
            case Step.MARK_LOST | Step.ADVANCE_LOST if Cause.STORE in causes:
                found[entry.token] += 1
                under_way.discard(passage)
            case Step.FENCED:
                under_way.discard(passage)
                found[entry.token] += bool({Cause.STORE, Cause.CLOCK} & causes)
            case _:
                pass
    if Cause.PROCESS in causes:
        found.update(token for _, token in under_way)
    return found


def _losses(accepted: set[str], rows: Mapping[str, Sequence[Row]], copies: Copies) -> list[str]:
    lost = [f"{token} was accepted and is not in the ledger" for token in accepted - rows.keys()]
    lost += [f"{token} arrived and is not in the ledger" for token in copies.keys() - rows.keys()]
    for token, found in rows.items():
        for row in found:
            if row.status in ("pending", "in_progress"):
                lost.append(f"{token} is still {row.status}")
            if row.status == "delivered" and not _is_whole(row, copies):
                lost.append(f"{token} is called delivered and has not arrived whole")
    return lost


def _is_whole(row: Row, copies: Copies) -> bool:
    return all(copies.get(row.token, {}).get(part, 0) > 0 for part in range(1, row.parts + 1))


def _duplicates(rows: Mapping[str, Sequence[Row]], copies: Copies) -> tuple[list[str], list[str]]:
    marked, unmarked = list[str](), list[str]()
    for token, parts in copies.items():
        if max(parts.values()) > 1:
            found = rows.get(token, ())
            said = len(found) == 1 and found[0].possible_duplicate
            (marked if said else unmarked).append(token)
    return marked, unmarked


def _unexplained(rows: Mapping[str, Sequence[Row]], explained: Mapping[str, int]) -> dict[str, int]:
    excess = {
        token: sum(row.uncertain_attempts for row in found) - explained.get(token, 0) for token, found in rows.items()
    }
    return {token: number for token, number in excess.items() if number > 0}
