from __future__ import annotations

import pytest

from postroom.programs.sandbox.guard import refusal_reason

HERE = {"Host": "127.0.0.1:40290"}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(HERE, id="program"),
        pytest.param({"Host": "localhost"}, id="name"),
        pytest.param({"Host": "[::1]:40290"}, id="ipv6"),
        pytest.param({"Host": "sandbox.home:40290"}, id="configured"),
        pytest.param(HERE | {"Origin": "http://127.0.0.1:40290"}, id="own-page"),
        pytest.param(HERE | {"Sec-Fetch-Site": "same-origin"}, id="own-fetch"),
        pytest.param(HERE | {"Sec-Fetch-Site": "none"}, id="typed-address"),
    ],
)
def test_requests_from_here_pass(headers):
    assert refusal_reason(headers, "POST", "/sandbox/faults", {"sandbox.home"}) is None


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no-host"),
        pytest.param({"Host": "evil.example"}, id="rebound-name"),
        pytest.param({"Host": "127.0.0.1.evil.example:40290"}, id="looks-like-loopback"),
        pytest.param({"Host": "localhost.evil.example"}, id="looks-like-localhost"),
        pytest.param({"Host": "evil.example@127.0.0.1"}, id="user-part"),
        pytest.param({"Host": "0.0.0.0:40290"}, id="any-address"),
        pytest.param({"Host": "192.168.1.5:40290"}, id="other-address"),
        pytest.param(HERE | {"Origin": "http://evil.example"}, id="other-origin"),
        pytest.param(HERE | {"Origin": "null"}, id="null-origin"),
        pytest.param(HERE | {"Origin": "https://127.0.0.1:40290"}, id="other-scheme"),
        pytest.param(HERE | {"Origin": "http://127.0.0.1:40291"}, id="other-port"),
        pytest.param(HERE | {"Sec-Fetch-Site": "cross-site"}, id="image-elsewhere"),
        pytest.param(HERE | {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, id="form-elsewhere"),
    ],
)
def test_requests_from_elsewhere_are_refused(headers):
    assert refusal_reason(headers, "POST", "/sandbox/faults", {"sandbox.home"})


@pytest.mark.parametrize(
    ("path", "refused"), [("/sandbox/", False), ("/bot1:a/sendMessage", True), ("/sandbox/faults", True)]
)
def test_a_link_may_open_the_page_and_nothing_else(path, refused):
    headers = HERE | {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}

    assert bool(refusal_reason(headers, "GET", path, ())) is refused
