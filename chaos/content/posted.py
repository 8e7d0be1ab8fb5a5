"""What came of messages with files and of corrections: whether each is there whole, and changed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Act(StrEnum):
    FILE = "file"
    REVISE = "revise"
    RECALL = "recall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """
    One message, as its caller, the ledger and the provider have it.

    `status` is that of its delivery, None when the ledger does not know it; `copies` are on the phone, `whole` those
    of them that carry the file's own bytes, or look as the correction wants them; `corrections` are the deliveries
    that carry one, `edits` those the provider made, and `marked`: the ledger says that a copy is possible.
    """

    token: str
    act: Act
    status: str | None = None
    copies: int = 0
    whole: int = 0
    deliveries: int = 1
    corrections: int = 0
    edits: int = 0
    marked: bool = False


COLUMNS: Final = (
    "messages with a file",
    "corrections",
    "lost",
    "sent twice, marked",
    "unmarked",
    "corrections made twice, unmarked",
    "rows without their file",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    files: int = 0
    corrections: int = 0
    lost: int = 0
    twice_marked: int = 0
    twice_unmarked: int = 0
    corrected_twice: int = 0
    orphans: int = 0
    complaints: tuple[str, ...] = field(default=())

    @property
    def sound(self) -> bool:
        return not (self.lost or self.twice_unmarked or self.corrected_twice or self.orphans)

    @property
    def numbers(self) -> tuple[int, ...]:
        return (
            self.files,
            self.corrections,
            self.lost,
            self.twice_marked,
            self.twice_unmarked,
            self.corrected_twice,
            self.orphans,
        )

    def line(self) -> str:
        return (
            f"with a file {self.files} · corrections {self.corrections} · lost {self.lost} · "
            f"twice marked {self.twice_marked}, unmarked {self.twice_unmarked} · "
            f"corrected twice {self.corrected_twice} · rows without their file {self.orphans}"
        )


def judged(posted: Sequence[Posted], orphans: Sequence[str] = ()) -> Contents:
    """`orphans` are rows that name a file which is not there."""
    harm: Mapping[str, list[str]] = {
        "is lost": [one.token for one in posted if _is_lost(one)],
        "came twice, unmarked": [one.token for one in posted if _is_twice(one) and not one.marked],
        "was corrected twice": [one.token for one in posted if _is_corrected_twice(one)],
        "names a file that is not there": list(orphans),
    }
    lost, twice, corrected, missing = harm.values()
    return Contents(
        files=sum(one.act is Act.FILE for one in posted),
        corrections=sum(one.act is not Act.FILE for one in posted),
        lost=len(lost),
        twice_marked=sum(_is_twice(one) and one.marked for one in posted),
        twice_unmarked=len(twice),
        corrected_twice=len(corrected),
        orphans=len(missing),
        complaints=tuple(f"{token} {what}" for what, tokens in harm.items() for token in tokens),
    )


def _is_lost(one: Posted) -> bool:
    """Every copy is whole; what was to be corrected has its correction."""
    uncorrected = one.act is not Act.FILE and one.corrections == 0
    return one.status != "delivered" or one.copies == 0 or one.whole < one.copies or uncorrected


def _is_corrected_twice(one: Posted) -> bool:
    return one.corrections > 1 or (one.edits > 1 and not one.marked)


def _is_twice(one: Posted) -> bool:
    return one.copies > 1 or one.deliveries > 1
