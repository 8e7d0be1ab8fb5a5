"""What came of what people wrote: whether each message is answered once, in order, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from postroom.conversations.model import InboundStatus

COLUMNS: Final = (
    "written",
    "answered",
    "said to have failed",
    "lost",
    "answered twice, marked",
    "unmarked",
    "out of order",
    "answered for a stranger",
)
_SAID: Final = (InboundStatus.ANSWERED, InboundStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """
    One message, as the person, the household and the provider have it, in the order they were written.

    `status` is None when the household does not know it; `answers` are the numbers that the provider gave to what
    came back for it; `deliveries` are those in our ledger; `marked`: the ledger says that a copy is possible.
    For a stranger `answers` are without the one polite sentence, and `sessions` are those begun for the message.
    """

    token: str
    stranger: bool = False
    status: InboundStatus | None = None
    answers: Sequence[int] = ()
    deliveries: int = 0
    marked: bool = False
    sessions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Talks:
    written: int = 0
    answered: int = 0
    failed: int = 0
    lost: int = 0
    twice_marked: int = 0
    twice_unmarked: int = 0
    out_of_order: int = 0
    for_strangers: int = 0
    complaints: tuple[str, ...] = field(default=())

    @property
    def sound(self) -> bool:
        return not (self.lost or self.twice_unmarked or self.out_of_order or self.for_strangers)

    @property
    def numbers(self) -> tuple[int, ...]:
        return (
            self.written,
            self.answered,
            self.failed,
            self.lost,
            self.twice_marked,
            self.twice_unmarked,
            self.out_of_order,
            self.for_strangers,
        )

    def line(self) -> str:
        return (
            f"written {self.written} · answered {self.answered} · failed {self.failed} · lost {self.lost} · "
            f"twice marked {self.twice_marked}, unmarked {self.twice_unmarked} · "
            f"out of order {self.out_of_order} · for a stranger {self.for_strangers}"
        )


def judged(said: Sequence[Said]) -> Talks:
    own = [one for one in said if not one.stranger]
    harm: Mapping[str, list[str]] = {
        "is lost": [one.token for one in said if _is_lost(one)],
        "was answered twice, unmarked": [one.token for one in own if _is_twice(one) and not _is_marked(one)],
        "was answered out of order": [*_overtaken(own)],
        "is a stranger's and was answered": [one.token for one in said if _is_for_a_stranger(one)],
    }
    lost, twice, overtaken, strangers = harm.values()
    return Talks(
        written=len(said),
        answered=sum(one.status is InboundStatus.ANSWERED for one in own),
        failed=sum(one.status is InboundStatus.FAILED for one in own),
        lost=len(lost),
        twice_marked=sum(_is_twice(one) and _is_marked(one) for one in own),
        twice_unmarked=len(twice),
        out_of_order=len(overtaken),
        for_strangers=len(strangers),
        complaints=tuple(f"{token} {what}" for what, tokens in harm.items() for token in tokens),
    )


def _is_lost(one: Said) -> bool:
    """Whatever is said to be answered has arrived; a stranger's is refused."""
    if one.stranger:
        return one.status is not InboundStatus.REFUSED
    return one.status not in _SAID or not one.answers


def _is_twice(one: Said) -> bool:
    return len(one.answers) > 1 or one.deliveries > 1


def _is_marked(one: Said) -> bool:
    return one.marked and one.deliveries == 1


def _is_for_a_stranger(one: Said) -> bool:
    return one.stranger and bool(one.answers or one.sessions)


def _overtaken(own: Sequence[Said]) -> Iterator[str]:
    """By the first copy of each answer: a marked second one comes when it comes."""
    latest = 0
    for one in own:
        if one.answers and min(one.answers) < latest:
            yield one.token
        latest = max(latest, min(one.answers, default=0))
