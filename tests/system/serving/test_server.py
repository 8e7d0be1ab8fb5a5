"""A port that is taken is one sentence, and following it helps."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import structlog
from tests.patience import PATIENCE_SECONDS

from postroom.system.serving.server import PortTaken, bind, bind_patiently, port_of


@pytest.mark.parametrize(
    ("part", "advice"),
    [
        ("health", "set another with POSTROOM_PORTS__HEALTH"),
        ("sandbox_smtp", "set another with POSTROOM_PORTS__SANDBOX_SMTP"),
        ("gardener", "set another in gardener/butler.toml"),
    ],
)
def test_it_says_where_another_port_is_set(part: str, advice: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        with pytest.raises(PortTaken, match=advice):
            bind(part, "127.0.0.1", taken.getsockname()[1])


@contextmanager
def outgoing() -> Iterator[socket.socket]:
    """A connection whose own end has some port; its end leaves nothing behind."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as caller:
        caller.bind(("127.0.0.1", 0))
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.connect(server.getsockname())
        yield caller


async def test_a_port_that_an_outgoing_connection_holds_is_waited_for() -> None:
    with outgoing() as caller:
        port = port_of(caller)
        with pytest.raises(PortTaken, match="nobody listens there"):
            bind("api", "127.0.0.1", port)
        with structlog.testing.capture_logs() as told:
            waiting = asyncio.create_task(bind_patiently("api", "127.0.0.1", port))
            await asyncio.sleep(0)
        assert not waiting.done()
        [line] = told
        assert (line["event"], line["part"], line["port"], line["seconds"]) == ("port.waits", "api", port, 60.0)
        assert "a connection of this machine uses the port as its own end" in line["reason"]

        caller.close()

        with await waiting as listener:
            assert port_of(listener) == port


async def test_after_some_time_the_connection_is_named_as_the_cause() -> None:
    with outgoing() as caller, pytest.raises(PortTaken, match="a connection of this machine uses the port"):
        await bind_patiently("api", "127.0.0.1", port_of(caller), 0.2)


async def test_a_port_where_somebody_listens_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(PortTaken) as raised:
        await asyncio.wait_for(bind_patiently("api", "127.0.0.1", port_of(server), 3600.0), PATIENCE_SECONDS)

    assert not raised.value.passing and "nobody listens" not in str(raised.value)
