"""What many rounds come to: medians with their spread, and the ratios the targets are about."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.peers.contenders import Contender

TARGETS = {"callers": 5.0, "batches": 1.0}  # against the best peer
SHARE_OF_LIMIT = 0.5


@dataclass(slots=True, kw_only=True)
class Figures:
    """Everything one contender did, in the order of the rounds; None where a round failed."""

    contender: Contender
    version: str = ""
    callers: list[float | None] = field(default_factory=list)
    batches: list[float | None] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def best(self) -> float:
        return max(
            (statistics.median(known(rates)) for rates in (self.callers, self.batches) if known(rates)), default=0
        )


def known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def ratios(ours: Sequence[float | None], theirs: Sequence[float | None]) -> list[float]:
    """Round by round: on a machine that is busy with other things only these can be compared."""
    return [mine / other for mine, other in zip(ours, theirs, strict=False) if mine and other]


def percentile(values: Sequence[float], rank: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[rank - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    text: str
    met: bool


def verdicts(figures: Sequence[Figures]) -> list[Verdict]:
    by_name = {one.contender.name: one for one in figures}
    ours, limit = by_name.get("Postroom"), by_name.get("Raw")
    peers = [one for one in figures if not one.contender.ours]
    found: list[Verdict] = []
    if ours is None:
        return found
    for what in ("callers", "batches"):
        raced = [(ratios(getattr(ours, what), getattr(peer, what)), peer.contender.name) for peer in peers]
        if rounds := [(statistics.median(made), name) for made, name in raced if made]:
            found.append(_against(min(rounds), what))
    if limit is not None and (share := ratios(ours.callers, limit.batches)):
        found.append(_share(statistics.median(share)))
    return found


def _against(best: tuple[float, str], what: str) -> Verdict:
    ratio, name = best
    how = "when each job comes in a call of its own" if what == "callers" else "when all are handed 100 at a time"
    return Verdict(
        text=f"{ratio:.2g}× the best peer ({name}) {how}; the target is {TARGETS[what]:g}×",
        met=ratio >= TARGETS[what],
    )


def _share(share: float) -> Verdict:
    return Verdict(
        text=f"{share:.0%} of the raw limit; the target is {SHARE_OF_LIMIT:.0%}",
        met=share >= SHARE_OF_LIMIT,
    )
