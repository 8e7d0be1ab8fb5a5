"""What a terminal shows after a program wrote to it, as HTML."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby

import pyte  # in build/picture-tools: `make moving-picture` brings it there

_COLOURS = {
    "black": "#1b1d23",
    "red": "#f2777a",
    "green": "#7fc98f",
    "brown": "#e6c07b",
    "blue": "#7aa6da",
    "magenta": "#c397d8",
    "cyan": "#70c0b1",
    "white": "#d8dae0",
    "default": "#e4e6eb",
}
_SHAPES = {0x23BF: "└"}  # few fonts have the corner that Claude Code draws


def shown(drawn: bytes, rows: int, columns: int) -> pyte.Screen:
    screen = pyte.Screen(columns, rows)
    pyte.ByteStream(screen).feed(_known(drawn))
    return screen


def lines(screen: pyte.Screen) -> list[str]:
    return [one.rstrip() for one in screen.display]


def as_html(screen: pyte.Screen) -> str:
    rows = (_row(screen, number) for number in range(screen.lines))
    return "\n".join(rows)


def _row(screen: pyte.Screen, number: int) -> str:
    cells = [screen.buffer[number][column] for column in range(screen.columns)]
    parts = groupby(cells, key=lambda cell: (cell.fg, cell.bg, cell.bold, cell.reverse))
    return "".join(_span(look, "".join(cell.data for cell in run)) for look, run in parts)


def _span(look: tuple[str, str, bool, bool], text: str) -> str:
    front, back, bold, reverse = look
    ink, paper = _colour(front, "#e4e6eb"), _colour(back, "transparent")
    if reverse:
        ink, paper = "#16181d", ink
    weight = ";font-weight:600" if bold else ""
    return f'<span style="color:{ink};background:{paper}{weight}">{escape(text.translate(_SHAPES))}</span>'


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return _COLOURS.get(name) or (f"#{name}" if re.fullmatch("[0-9a-f]{6}", name) else default)


def _known(drawn: bytes) -> bytes:
    """Without the steering that newer terminals have and that one would print."""
    return re.sub(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", b"", drawn)
