"""The sockets of the installed suite, by the names that tests of this repository use."""

from __future__ import annotations

from postroom.testing.servers.http import FakeProvider, closed_port
from postroom.testing.servers.http import FakeServer as Listener

__all__ = ["FakeProvider", "Listener", "closed_port"]
