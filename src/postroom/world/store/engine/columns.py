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
    return [_joined(column) for column in zip(*rows, strict=True)] if rows else [""] * width


def _is_text(column: tuple[Any, ...], nothing: int) -> bool:
    """A column has one type, so its first value tells."""
    return not nothing and type(column[0]) is str


def _joined(column: tuple[Any, ...]) -> str:
    nothing = column.count(None)
    if nothing == len(column):
        return ""
    given = column if _is_text(column, nothing) else [_NOTHING if one is None else str(one) for one in column]
    text = _BETWEEN + _BETWEEN.join(given)  # one before the first, for without it a lone empty text would be no text
    if text.count(_SECRET) != len(column) + nothing:
        raise ValueError("a text cannot hold the mark between texts")
    return text
