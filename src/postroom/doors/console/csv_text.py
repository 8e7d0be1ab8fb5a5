"""
Rows as CSV: RFC 4180, in UTF-8 with the mark that spreadsheets look for, and harmless in them.

Text is always quoted, so that a program which separates by semicolons or tabs splits none of it, and text that a
spreadsheet would take for a formula begins with an apostrophe. Numbers stay numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from postroom.domain.time import to_text

Cell = str | int | float | bool | None
MARK: Final = "\ufeff"  # without it, spreadsheets read UTF-8 as something else
# What begins a formula, also written wide or after what is skipped.
_FORMULA: Final = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def csv_line(cells: Iterable[Cell]) -> str:
    return ",".join(csv_cell(one) for one in cells) + "\r\n"


def csv_cell(value: Cell) -> str:
    match value:
        case None:
            return ""
        case bool():
            return '"yes"' if value else '"no"'
        case int() | float():
            return str(value)
        case str():
            return '"' + harmless(value).replace('"', '""') + '"'


def harmless(text: str) -> str:
    """Spaces and other unseen characters in front of it do not hide a formula from a spreadsheet."""
    first = next((one for one in text if one in _FORMULA or _is_seen(one)), "")
    return f"'{text}" if first in _FORMULA and first else text


def moment_cell(at_us: int | None) -> str | None:
    """ISO 8601 in UTC."""
    return None if at_us is None else to_text(at_us)


def _is_seen(character: str) -> bool:
    return character.isprintable() and not character.isspace()
