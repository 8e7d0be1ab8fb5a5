from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from postroom.domain.web_address import web_address


@pytest.mark.parametrize("host", ["127.0.0.1", "butler.example", "::1", "2001:db8::7"])
def test_host_and_port_can_be_read_back(host: str) -> None:
    parts = urlsplit(web_address(host, 40200))

    assert (parts.hostname, parts.port) == (host, 40200)
