"""Trust by address."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.app.address_book import stored_contacts
from postroom.app.trust import HouseholdTrust, SettingsTrust
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.ids import IdMint
from postroom.system.settings import Contact, Owner
from postroom.work.people.new_contact import new_contact
from postroom.world.channels.telegram import Telegram
from postroom.world.store.engine.sqlite import SqliteDatabase


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


async def test_a_stored_contact_marked_trusted_is_trusted_like_one_of_the_settings(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "postroom.db")
    await database.migrate()
    contacts = stored_contacts(database, IdMint())
    other = "agent://user/x"
    for book, chat, trusted in ((HOUSEHOLD_OWNER, "1", True), (HOUSEHOLD_OWNER, "2", False), (other, "3", True)):
        new = new_contact(name=f"Contact {chat}", telegram_chat_id=chat, trusted=trusted)
        await contacts.create(book, new, source="api", now_us=1)
    channels = {"telegram": Telegram("1:t", "http://127.0.0.1:1")}
    trust = HouseholdTrust(SettingsTrust(Owner(telegram_chat_id="9"), [], channels), contacts)
    try:
        assert [await trust.is_trusted("telegram", one) for one in "1239"] == [True, False, False, True]
        assert not await trust.is_trusted("pigeon", "1")
    finally:
        await database.close()
