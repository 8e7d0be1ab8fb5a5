"""Rows as the columns that `unnest` puts together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def columns(rows: Sequence[Sequence[Any]], width: int = 0) -> list[Sequence[Any]]:
    """Without what is empty in every row: `unnest` fills it up, and the driver need not look at each of them."""
    if not rows:
        return [()] * width
    return [() if column.count(None) == len(column) else column for column in zip(*rows, strict=True)]
