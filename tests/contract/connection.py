"""The sockets of the installed suite, by the names that tests of this repository use."""

from __future__ import annotations

from postroom.testing.servers.fake_server import FakeProvider, closed_port
from postroom.testing.servers.fake_server import FakeServer as Listener

__all__ = ["FakeProvider", "Listener", "closed_port"]
