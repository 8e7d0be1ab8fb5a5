"""Sends only as much of a text as fits into one page."""

from __future__ import annotations

from collections.abc import Iterator

from tests.testing.pager import Pager

FAILS = {"property/nothing-lost"}


class Broken(Pager):
    def pieces(self, text: str) -> Iterator[str]:
        yield next(super().pieces(text))
