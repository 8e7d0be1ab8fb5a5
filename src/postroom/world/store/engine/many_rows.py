"""One SQLite statement over many rows, so that the interpreter's lock is given up once and not once a row."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

Row: TypeAlias = Sequence[Any]
_MOST_AT_ONCE = 256  # SQLite takes 32,766 values in a statement


class ManyRows:
    """`statement` is given the text of a VALUES list, and kept for each of the few lengths there are."""

    def __init__(self, statement: Callable[[str], str], *, row: str) -> None:
        self._text = cache(lambda count: statement(", ".join([row] * count)))

    def run(self, driver: sqlite3.Connection, rows: Sequence[Row]) -> list[Any]:
        """What the statement returns, over all the rows."""
        returned: list[Any] = []
        for some in _powers_of_two(rows):
            values = [value for row in some for value in row]
            returned += driver.execute(self._text(len(some)), values).fetchall()
        return returned


def marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


def _powers_of_two(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Lengths that come back, so that the driver finds its prepared statements again."""
    start = 0
    while left := len(rows) - start:
        length = min(1 << (left.bit_length() - 1), _MOST_AT_ONCE)
        yield rows[start : start + length]
        start += length
