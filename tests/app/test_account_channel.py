"""An account of the settings becomes the channel of its kind, under its own name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.app.account_channel import account_channel, answers_topic, section_name
from postroom.app.address_forms import address_forms
from postroom.app.channels import build_channels
from postroom.domain.ports import Channel
from postroom.domain.settings_error import SettingsError
from postroom.world.channels.kinds import KINDS
from tests.app.living import settings_for

OPTIONS: dict[str, dict[str, Any]] = {
    "telegram": {"token": "1:a"},
    "email": {"address": "us@example.org", "imap_host": "imap.example.org", "authserv_id": "mx.example.org"},
    "ntfy": {"url": "https://ntfy.example.org"},
    "slack": {"bot_token": "xoxb-1-2-a", "app_token": "xapp-1-a"},
    "discord": {"bot_token": "MTIz.abc.def"},
    "webhook": {"url": "https://example.org/hook"},
    "apprise": {"url": "json://example.org/"},
}
ADDRESSES = {
    "telegram": "@Someone",
    "email": "a@x.org",
    "ntfy": "alerts",
    "slack": "U024BE7LH",
    "discord": "user:123456789012345678",
    "webhook": "Bob",
    "apprise": "-",
}


@pytest.mark.requirement("chan:one-list")
@pytest.mark.parametrize("kind", OPTIONS)
async def test_every_kind_is_made_under_the_accounts_own_name(home: Path, kind: str) -> None:
    settings = settings_for(home, {"channels": {"mine": {"kind": kind, **OPTIONS[kind]}}})
    channel: Channel = build_channels(settings, None)["mine"]
    await channel.close()

    can, declared = channel.capabilities, KINDS[kind]
    assert channel.name == "mine"
    assert (can.buttons, can.inbound, can.receipt) == (declared.buttons, declared.inbound, declared.receipt)
    assert address_forms(settings)["mine"](ADDRESSES[kind]) == channel.address(ADDRESSES[kind]) is not None


@pytest.mark.requirement("chan:answers-topic")
def test_a_topic_for_answers_cannot_be_guessed_and_stays(home: Path, tmp_path: Path) -> None:
    first, again = answers_topic(home, "push"), answers_topic(home, "push")
    others = {answers_topic(home, "other"), answers_topic(tmp_path / "elsewhere", "push")}

    assert first == again and len({first, *others}) == 3
    assert first.removeprefix("postroom-") != first and len(first) == len("postroom-") + 24


@pytest.mark.requirement("chan:account-errors")
def test_what_is_wrong_is_said_under_the_accounts_place_in_the_settings(home: Path) -> None:
    settings = settings_for(
        home, {"telegram": {"token": "1:a"}, "channels": {"bad": {"kind": "telegram", "token": "canary token"}}}
    )
    old, new = settings.accounts

    assert (section_name(old), section_name(new)) == ("telegram", "channels.bad")
    with pytest.raises(SettingsError) as refused:
        account_channel(new, home)
    assert str(refused.value) == "channels.bad: the Telegram bot token is malformed."
