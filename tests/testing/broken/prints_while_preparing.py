"""Left a print in, where hostile text is escaped."""

from __future__ import annotations

from tests.testing.pager import Pager

FAILS = {"property/discreet"}


class Broken(Pager):
    def escaped(self, text: str) -> str:
        if "<" in text:
            print("escaping", text)
        return super().escaped(text)
