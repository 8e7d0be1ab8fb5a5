"""Accounts made against the sandbox, each under its own name."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.app.channels import build_channels
from postroom.app.sandbox_channel import SandboxAddress, sandbox_channel
from tests.app.living import living, settings_for

SANDBOX = SandboxAddress("127.0.0.1", 9, 10)
ACCOUNTS = {
    "channels": {
        "work": {"kind": "telegram", "token": "1:canary"},
        "letters": {"kind": "email", "address": "us@example.org"},
        "calls": {"kind": "webhook", "url": "https://example.org/hook"},
        "pager": {"factory": "nowhere:Pager"},
    }
}


@pytest.mark.requirement("chan:sandbox-accounts")
async def test_nothing_is_made_with_real_credentials(home: Path) -> None:
    channels = build_channels(settings_for(home, ACCOUNTS, {"sandbox": True}), SANDBOX)
    for channel in channels.values():
        await channel.close()

    assert list(channels) == ["telegram", "email", "work", "letters"]
    assert [one.name for one in channels.values()] == list(channels)
    assert "api_base_url='http://127.0.0.1:9'" in repr(channels["work"])
    assert "127.0.0.1:10" in repr(channels["letters"]) and "example.org" not in repr(channels["letters"])


def test_a_kind_that_it_does_not_play_is_refused(home: Path) -> None:
    with pytest.raises(ValueError, match="does not play webhook"):
        sandbox_channel("calls", "webhook", SANDBOX, home)


async def test_in_a_container_that_listens_everywhere_the_phone_is_reached_and_linked_to(home: Path) -> None:
    async with living(home, {"host": "0.0.0.0"}) as household:
        answer = await household.notify(message="Tea is ready")
        url = household.household.addresses["sandbox"]
        async with household.http.get(url) as page:
            shown = await page.text()

    assert answer["delivery"]["status"] == "delivered"
    assert url.startswith("http://127.0.0.1:") and "Tea is ready" in shown
