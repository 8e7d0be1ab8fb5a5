"""Changes an address each time it is read."""

from __future__ import annotations

from tests.testing.pager import Pager

FAILS = {"property/stable-address"}


class Broken(Pager):
    def address(self, text: str) -> str | None:
        known = super().address(text)
        return known if known is None or text == known or len(known) > 11 else f"0{known} "
