"""What an edit takes away and what it adds, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

_WORDS: Final = re.compile(r"\s+|[^\s]+")
_MOST_COMPARISONS: Final = 500_000


@dataclass(frozen=True, slots=True)
class DifferencePiece:
    kind: Literal["same", "gone", "new"]
    text: str


def difference(before: str, after: str) -> Sequence[DifferencePiece]:
    """Without the parts that are new it reads as before, without those that are gone as after."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    parts = [
        DifferencePiece("same", "".join(old[:head])),
        *_compared(old[head:old_end], new[head:new_end]),
        DifferencePiece("same", "".join(old[old_end:])),
    ]
    return [part for part in parts if part.text]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[DifferencePiece]:
    """Every word of one may have to be held against every word of the other, so what is too long is shown whole."""
    if len(old) * len(new) > _MOST_COMPARISONS:
        yield from (DifferencePiece("gone", "".join(old)), DifferencePiece("new", "".join(new)))
        return
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, added = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
        yield from (
            (DifferencePiece("same", gone),)
            if kind == "equal"
            else (DifferencePiece("gone", gone), DifferencePiece("new", added))
        )
