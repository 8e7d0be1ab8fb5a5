"""An index of three-letter pieces, for books too large to compare name by name."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Final

_MOST_POSTINGS: Final = 120_000  # what one query may look at; rare pieces come first and say the most


class TrigramIndex:
    """Numbers in, numbers out; nothing is ever taken back, so the caller skips what is gone."""

    def __init__(self) -> None:
        self._postings: dict[str, array[int]] = {}

    def add(self, number: int, text: str) -> None:
        for piece in set(_pieces(text)):
            found = self._postings.get(piece)
            if found is None:
                self._postings[piece] = found = array("I")
            found.append(number)

    def nearest(self, text: str, limit: int) -> list[int]:
        """Those that share the most pieces with the text."""
        lists = sorted((found for piece in set(_pieces(text)) if (found := self._postings.get(piece))), key=len)
        counted: Counter[int] = Counter()
        looked_at = 0
        for found in lists:
            if counted and looked_at + len(found) > _MOST_POSTINGS:
                break
            looked_at += len(found)
            counted.update(found)
        return [number for number, _ in counted.most_common(limit)]


def _pieces(text: str) -> Iterable[str]:
    """Per word, with the start marked: a wrong letter late in a name leaves its beginning intact."""
    for word in text.split():
        marked = f"  {word} "
        for start in range(len(marked) - 2):
            yield marked[start : start + 3]
