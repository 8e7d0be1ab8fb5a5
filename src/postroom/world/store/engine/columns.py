"""Rows as columns of text that the server takes apart: the driver then looks at one value for each of them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any, Final

_SECRET: Final = secrets.token_hex(8)  # nobody who writes a text knows it
_BETWEEN: Final = f"\x1f{_SECRET}"
_NOTHING: Final = f"\x1e{_SECRET}"
MARKS: Final = (_BETWEEN, _NOTHING)
_ARRAY: Final = re.compile(r"\$(\d+)::(\w+)\[\]")


def taking_apart(statement: str) -> str:
    """The statement with its arrays made from columns; it takes `MARKS` after everything else."""
    last = max(int(number) for number in re.findall(r"\$(\d+)", statement))

    def array(found: re.Match[str]) -> str:
        apart = f"(string_to_array(${found[1]}, ${last + 1}, ${last + 2}))[2:]"
        return apart if found[2] == "text" else f"{apart}::{found[2]}[]"

    return _ARRAY.sub(array, statement)


def columns(rows: Sequence[Sequence[Any]], width: int = 0) -> list[str]:
    """A column that is empty in every row stays empty: `unnest` fills it up."""
    if not rows:
        return [""] * width
    joined, marks = _alone(rows[0]) if len(rows) == 1 else _together(rows)
    if "".join(joined).count(_SECRET) != marks:
        raise ValueError("a text cannot hold the mark between texts")
    return joined


def _alone(row: Sequence[Any]) -> tuple[list[str], int]:
    """As whoever calls alone hands it in. A mark before the first, for without it an empty text would be no text."""
    joined = ["" if one is None else f"{_BETWEEN}{one!s}" for one in row]
    return joined, len(joined) - joined.count("")


def _together(rows: Sequence[Sequence[Any]]) -> tuple[list[str], int]:
    """A column has one type, so its first value tells."""
    joined, marks, height = [], 0, len(rows)
    for column in zip(*rows, strict=True):
        if (nothing := column.count(None)) == height:
            joined.append("")
            continue
        plain = not nothing and type(column[0]) is str
        given = column if plain else [_NOTHING if one is None else str(one) for one in column]
        joined.append(_BETWEEN + _BETWEEN.join(given))
        marks += height + nothing
    return joined, marks
