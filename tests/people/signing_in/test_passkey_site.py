"""Under which names the console has passkeys."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from postroom.people.signing_in.passkeys import Site, site_of

HOSTS = {
    "localhost:40200": Site(rp_id="localhost", origin="http://localhost:40200"),
    "LOCALHOST": Site(rp_id="localhost", origin="http://localhost"),
    "post.example.org": Site(rp_id="post.example.org", origin="https://post.example.org"),
    "post.example.org:8443": Site(rp_id="post.example.org", origin="https://post.example.org:8443"),
    "127.0.0.1:40200": None,
    "[::1]:40200": None,
    "192.168.1.5": None,
    "box": None,
    "": None,
}


@pytest.mark.parametrize(("host", "expected"), HOSTS.items())
def test_a_name_has_passkeys_and_a_number_has_none(host: str, expected: Site | None) -> None:
    request = Request({"type": "http", "headers": [(b"host", host.encode())]})

    assert site_of(request) == expected
