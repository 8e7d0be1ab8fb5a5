"""Devices by the words people know them by, and never in a browser's own text."""

from __future__ import annotations

import pytest

from postroom.people.signing_in.passkeys import UNKNOWN, device_words

AGENTS = {
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36": "Chrome on Linux",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1": "Safari on iPhone",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/131.0": "Firefox on Windows",
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/129 Mobile Safari/537.36 EdgA/129": "Edge on Android",
    "": UNKNOWN,
    "<script>alert(1)</script>": UNKNOWN,
}


@pytest.mark.parametrize(("agent", "words"), AGENTS.items())
def test_a_device_has_words(agent: str, words: str) -> None:
    assert device_words(agent) == words
