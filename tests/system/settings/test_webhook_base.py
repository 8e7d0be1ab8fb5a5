from __future__ import annotations

import pytest
from pydantic import ValidationError

from postroom.system.settings import Settings
from postroom.system.settings.webhook_base import webhook_bases


@pytest.mark.requirement("talk:webhook")
@pytest.mark.parametrize("url", ["https://post.example.org/", "https://a.example:8443/x", "http://127.0.0.1:40200", ""])
def test_an_address_by_which_we_are_reached_is_taken_and_served(url: str) -> None:
    settings = Settings.model_validate({"home": "/nowhere", "telegram": {"webhook": url}})

    assert webhook_bases(settings) == ({"telegram": url.rstrip("/")} if url else {})
    assert ("post.example.org" in settings.served_hosts) is ("post.example.org" in url)


@pytest.mark.parametrize(
    "url",
    [
        "http://post.example.org",
        "ftp://post.example.org",
        "post.example.org",
        "https://",
        "https://u:p@a.example",
        "https://a.example/?x=1",
        "https://a.example:99999",
        "https://[",
    ],
)
def test_any_other_address_is_refused_by_its_key(url: str) -> None:
    with pytest.raises(ValidationError, match=r"webhook"):
        Settings.model_validate(
            {"home": "/nowhere", "channels": {"bot": {"kind": "telegram", "token": "1:a", "webhook": url}}}
        )
