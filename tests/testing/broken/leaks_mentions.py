"""Lets a text call people."""

from __future__ import annotations

from tests.testing.pager import Pager

FAILS = {"property/text-is-data"}


class Broken(Pager):
    def escaped(self, text: str) -> str:
        return text.replace("&", "&amp;").replace(">", "&gt;")
