"""Text in pieces, so that a page can mark every character that does not look like what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.work.approvals.visible import Hidden, findings


@dataclass(frozen=True, slots=True)
class Piece:
    """Plain text, or one character by its name; `text` is then empty unless it only looks like another letter."""

    text: str
    name: str = ""


def pieces(text: str) -> Sequence[Piece]:
    """What is invisible or turns the reading direction never reaches the page itself."""
    shown: list[Piece] = []
    last = 0
    for found in findings(text):
        if found.position > last:
            shown.append(Piece(text[last : found.position]))
        letter = found.character if found.kind is Hidden.LOOK_ALIKE else ""
        shown.append(Piece(letter, found.name))
        last = found.position + 1
    return [*shown, Piece(text[last:])] if last < len(text) else shown
