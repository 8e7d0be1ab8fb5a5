"""The piecemeal server of the installed suite, by the name that tests of this repository use."""

from __future__ import annotations

from postroom.testing.servers.http import Piecemeal

__all__ = ["Piecemeal"]
