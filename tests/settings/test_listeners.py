"""The ports of a process, as the settings name them."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from postroom.kernel.serving.servers import PortTaken, port_of
from postroom.settings import Settings
from postroom.settings.listeners import Listeners


@pytest.mark.parametrize(
    ("part", "advice"),
    [
        ("health", "set another with POSTROOM_PORTS__HEALTH"),
        ("sandbox_smtp", "set another with POSTROOM_PORTS__SANDBOX_SMTP"),
        ("gardener", "set another in gardener/butler.toml"),
    ],
)
async def test_it_says_where_another_port_is_set(part: str, advice: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with AsyncExitStack() as stack:
            listeners = Listeners(settings=Settings(home=tmp_path), stack=stack)

            with pytest.raises(PortTaken, match=advice):
                await listeners.bind({part: port_of(taken)})
