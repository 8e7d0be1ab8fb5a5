"""The shapes a picture may have, as geometry; each comes with its sentence and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from postroom.doors.console.charts import Bar, bars, lines, round_top, stacks, strip
from postroom.doors.console.figures_tables import FigureTable
from postroom.doors.console.words import amount

LOW_RATE: Final = 0.95
MOST_STRIPS: Final = 12


@dataclass(frozen=True, slots=True)
class Patterned:
    """A part of every bar; `pattern` names how it is filled, so that it is known without its colour."""

    word: str
    pattern: str
    many: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One name of a ranking, what is said of it, and its bar."""

    name: str
    said: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """What every picture has; `labels` stand under it, one for each place, some of them empty."""

    key: str
    title: str
    sentence: str
    table: FigureTable
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """`shape` says which of the others is drawn; an empty one is only its sentence."""

    shape: str
    caption: Caption
    is_empty: bool
    axis: tuple[str, str, str] = ("", "", "")
    pieces: Sequence[Patterned] = ()
    piles: Sequence[Sequence[Bar]] = ()
    curves: tuple[Sequence[str], Sequence[str]] = ((), ())
    strips: Sequence[Strip] = field(default=())
    left_out: int = 0


def stacked(caption: Caption, pieces: Sequence[Patterned], piles: Sequence[Sequence[int]]) -> Picture:
    """`piles` have a figure for each piece; the pieces get their sums."""
    top = max(round_top([float(sum(pile)) for pile in piles]), 2.0)
    totals = [sum(pile[place] for pile in piles) for place in range(len(pieces))]
    return Picture(
        shape="stacked",
        caption=caption,
        is_empty=not any(totals),
        axis=(f"{top:,.0f}", amount(top / 2), "0"),
        pieces=[Patterned(one.word, one.pattern, many) for one, many in zip(pieces, totals, strict=True)],
        piles=stacks(piles, top),
    )


def rated(caption: Caption, rates: Sequence[float | None]) -> Picture:
    """Those below LOW_RATE are filled differently."""
    return Picture(
        shape="rated",
        caption=caption,
        is_empty=all(one is None for one in rates),
        axis=("100 %", "50 %", "0 %"),
        piles=[bars(rates)],
    )


def curved(caption: Caption, p50_ms: Sequence[float | None], p95_ms: Sequence[float | None]) -> Picture:
    top = round_top(p95_ms)
    return Picture(
        shape="curved",
        caption=caption,
        is_empty=all(one is None for one in p50_ms),
        axis=(_short(top), _short(top / 2), "0"),
        curves=(lines(p50_ms, top), lines(p95_ms, top)),
    )


def ranked(caption: Caption, pieces: Sequence[Patterned], rows: Sequence[tuple[str, str, Sequence[int]]]) -> Picture:
    """The first rows; the table has them all."""
    top = float(max((sum(values) for _, _, values in rows), default=0))
    return Picture(
        shape="ranked",
        caption=caption,
        is_empty=not rows,
        pieces=pieces,
        strips=[Strip(name=name, said=said, bars=strip(values, top)) for name, said, values in rows[:MOST_STRIPS]],
        left_out=max(0, len(rows) - MOST_STRIPS),
    )


def _short(milliseconds: float) -> str:
    """Where there is little room."""
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if milliseconds >= 2 * size or (unit == "s" and milliseconds >= size):
            return f"{amount(round(milliseconds / size, 1))} {unit}"
    return f"{amount(round(milliseconds, 1))} ms"
