"""A port that is taken is one sentence, and following it helps."""

from __future__ import annotations

import socket

import pytest

from postroom.app.serving import PortTaken, bind


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
