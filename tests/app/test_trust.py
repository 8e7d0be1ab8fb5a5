"""Trust by address."""

from __future__ import annotations

import pytest

from postroom.app.trust import SettingsTrust
from postroom.channels.telegram import Telegram
from postroom.settings import Contact, Owner


@pytest.mark.parametrize(
    ("written", "asked", "trusted"),
    [
        pytest.param(" 1000 ", "1000", True, id="as the channel writes it"),
        pytest.param("@Ann_Home", "@ann_home", True, id="a user name in another case"),
        pytest.param("1000", "1001", False, id="another chat"),
        pytest.param(None, "None", False, id="no address at all"),
        pytest.param("", "", False, id="an empty address is nobody's"),
    ],
)
async def test_an_address_is_compared_as_the_channel_writes_it(written: str | None, asked: str, trusted: bool) -> None:
    trust = SettingsTrust(Owner(telegram_chat_id=written), [], {"telegram": Telegram("1:t", "http://127.0.0.1:1")})

    assert await trust.is_trusted("telegram", asked) is trusted


async def test_only_contacts_marked_trusted_are_trusted() -> None:
    contacts = [
        Contact(name="Alice", telegram_chat_id="1", trusted=True),
        Contact(name="Alice", telegram_chat_id="2"),
    ]
    trust = SettingsTrust(Owner(), contacts, {"telegram": Telegram("1:t", "http://127.0.0.1:1")})

    assert [await trust.is_trusted("telegram", one) for one in "12"] == [True, False]
