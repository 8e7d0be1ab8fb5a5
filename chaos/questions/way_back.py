"""What came of questions: whether each has one answer, the one the person gave, and no card is left that asks on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    One question, as the ledger, the phone and its asker have it.

    `said` is the person's one answer, None when several raced; `winners` are attempts that were accepted;
    `copies` are cards on the phone, `pressable` those of them that still ask; `marked`: the ledger says that
    a copy is possible; `heard` is what its asker was handed, each time; `listed` is how often it is in `answers`.
    """

    token: str
    said: str | None
    answer: str | None
    winners: int
    copies: int
    pressable: int
    marked: bool
    heard: Sequence[str]
    listed: int


COLUMNS: Final = (
    "asked",
    "answered",
    "two winners",
    "answers lost",
    "asked twice, marked",
    "unmarked",
    "cards left open, marked",
    "unmarked",
    "not in `answers`",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    asked: int = 0
    answered: int = 0
    two_winners: int = 0
    lost: int = 0
    twice_marked: int = 0
    twice_unmarked: int = 0
    open_marked: int = 0
    open_unmarked: int = 0
    unlisted: int = 0
    complaints: tuple[str, ...] = field(default=())

    @property
    def sound(self) -> bool:
        return not (self.two_winners or self.lost or self.twice_unmarked or self.open_unmarked or self.unlisted)

    @property
    def numbers(self) -> tuple[int, ...]:
        return (
            self.asked,
            self.answered,
            self.two_winners,
            self.lost,
            self.twice_marked,
            self.twice_unmarked,
            self.open_marked,
            self.open_unmarked,
            self.unlisted,
        )

    def line(self) -> str:
        return (
            f"asked {self.asked} · two winners {self.two_winners} · answers lost {self.lost} · "
            f"asked twice marked {self.twice_marked}, unmarked {self.twice_unmarked} · "
            f"left open marked {self.open_marked}, unmarked {self.open_unmarked} · unlisted {self.unlisted}"
        )


def judged(questions: Iterable[Asked]) -> WayBack:
    found = list(questions)
    harm: Mapping[str, list[str]] = {
        "has two winners": [one.token for one in found if one.winners > 1],
        "lost its answer": [one.token for one in found if _is_lost(one)],
        "was asked twice, unmarked": [one.token for one in found if one.copies > 1 and not one.marked],
        "left a card open, unmarked": [one.token for one in found if one.pressable and not one.marked],
        "is not once in `answers`": [one.token for one in found if one.answer is not None and one.listed != 1],
    }
    winners, lost, twice, left, unlisted = harm.values()
    return WayBack(
        asked=len(found),
        answered=sum(one.answer is not None for one in found),
        two_winners=len(winners),
        lost=len(lost),
        twice_marked=sum(one.copies > 1 and one.marked for one in found),
        twice_unmarked=len(twice),
        open_marked=sum(bool(one.pressable) and one.marked for one in found),
        open_unmarked=len(left),
        unlisted=len(unlisted),
        complaints=tuple(f"{token} {what}" for what, tokens in harm.items() for token in tokens),
    )


def _is_lost(one: Asked) -> bool:
    """The person's word is not the answer, or the asker never had the answer, or had another."""
    return (one.said is not None and one.answer != one.said) or set(one.heard) != {one.answer}
