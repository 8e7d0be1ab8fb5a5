"""Cuts a text to the limit, and then makes it longer by escaping."""

from __future__ import annotations

from collections.abc import Iterator

from tests.testing.pager import MOST_UNITS, Pager

FAILS = {"property/fits"}


class Broken(Pager):
    def pieces(self, text: str) -> Iterator[str]:
        for start in range(0, len(text), MOST_UNITS):
            yield text[start : start + MOST_UNITS]
