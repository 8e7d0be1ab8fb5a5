"""Adds something new to each call, so that a second one is not the first one again."""

from __future__ import annotations

from itertools import count

from tests.testing.pager import Pager

FAILS = {"property/same-again"}
NUMBERS = count()


class Broken(Pager):
    def headers(self) -> dict[str, str]:
        return {**super().headers(), "X-Request-Id": str(next(NUMBERS))}
