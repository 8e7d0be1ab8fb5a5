"""Small charts as geometry: the template only draws what is worked out here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 480
HEIGHT: Final = 120
_GAP: Final = 4
_SMALLEST: Final = 1e-9  # below this there is nothing to see


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    value: float


def bars(values: Sequence[float | None], top: float = 1.0) -> list[Bar]:
    """One place per value; where nothing is known nothing is drawn, and something is always visible."""
    step = WIDTH / max(len(values), 1)
    drawn = []
    for place, value in enumerate(values):
        if value is not None:
            height = max(2.0, min(value / top, 1.0) * HEIGHT) if top else 2.0
            drawn.append(
                Bar(
                    x=round(place * step + _GAP / 2, 2),
                    y=round(HEIGHT - height, 2),
                    width=round(step - _GAP, 2),
                    height=round(height, 2),
                    value=value,
                )
            )
    return drawn


def lines(values: Sequence[float | None], top: float) -> list[str]:
    """As many pieces as there are stretches without a gap; a lone point becomes a short dash."""
    step = WIDTH / max(len(values), 1)
    pieces: list[list[tuple[float, float]]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            share = min(value / top, 1.0) if top else 0.0
            pieces[-1].append(((place + 0.5) * step, HEIGHT - 2 - share * (HEIGHT - 4)))
    return [_points(piece, step) for piece in pieces if piece]


def round_top(values: Sequence[float | None]) -> float:
    """The next 1, 2 or 5 of its order above the largest value, so that the axis reads well."""
    largest = max((value for value in values if value is not None), default=0.0)
    if largest < _SMALLEST:
        return 1.0
    order = 10.0 ** math.floor(math.log10(largest))
    return next((step * order for step in (1, 2, 5) if step * order >= largest), 10 * order)


def _points(piece: list[tuple[float, float]], step: float) -> str:
    if len(piece) == 1:
        (x, y) = piece[0]
        piece = [(x - step / 4, y), (x + step / 4, y)]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in piece)
