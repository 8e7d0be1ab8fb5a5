"""Shows its token to everybody who prints it."""

from __future__ import annotations

from tests.testing.pager import Pager

FAILS = {"manners/shows-nothing"}


class Broken(Pager):
    def __repr__(self) -> str:
        return f"Pager({self._url!r}, {self._token!r})"
