"""Trust by address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.opened_database import opened_file
from tests.people.known_people import household_people, owner

from postroom.channels.telegram.channel import Telegram
from postroom.kernel.database.engine import Database
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.people import HouseholdTrust
from postroom.people.person_rules import new_contact

CHANNELS = {"telegram": Telegram("1:t", "http://127.0.0.1:1")}


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_file(tmp_path) as database:
        yield database


@pytest.mark.parametrize(
    ("written", "asked", "trusted"),
    [
        pytest.param(" 1000 ", "1000", True, id="as the channel writes it"),
        pytest.param("@Ann_Home", "@ann_home", True, id="a user name in another case"),
        pytest.param("1000", "1001", False, id="another chat"),
        pytest.param(None, "None", False, id="no address at all"),
        pytest.param("", "", False, id="an empty address is nobody's"),
        pytest.param("@Kelvin", "@\u212aelvin", False, id="a letter that only looks like ours"),
    ],
)
async def test_an_address_is_compared_as_the_channel_writes_it(
    database: Database, written: str | None, asked: str, trusted: bool
) -> None:
    _, people = await household_people(database, owner(telegram=written))

    assert await HouseholdTrust(people, CHANNELS).is_trusted("telegram", asked) is trusted


async def test_only_people_marked_trusted_are_trusted_and_only_in_the_households_book(database: Database) -> None:
    said = [new_contact(name="Alice", telegram_chat_id=chat, trusted=chat == "1") for chat in "12"]
    stored, people = await household_people(database, owner(telegram="9"), *said)
    other = new_contact(name="Carl", telegram_chat_id="3", trusted=True)
    await stored.create("agent://user/x", other, source="api", now_us=1)
    trust = HouseholdTrust(people, CHANNELS)

    assert [await trust.is_trusted("telegram", one) for one in "1239"] == [True, False, False, True]
    assert not await trust.is_trusted("pigeon", "1")


async def test_trust_that_is_given_or_taken_counts_at_once(database: Database) -> None:
    stored, people = await household_people(database, owner(telegram="9"))
    trust = HouseholdTrust(people, CHANNELS)
    assert not await trust.is_trusted("telegram", "1")

    new = new_contact(name="Alice", telegram_chat_id="1", trusted=True)
    alice = await stored.create(HOUSEHOLD_OWNER, new, source="api", now_us=1)
    assert await trust.is_trusted("telegram", "1")
    await stored.delete(HOUSEHOLD_OWNER, alice.id)
    assert not await trust.is_trusted("telegram", "1")


async def test_trust_that_another_process_has_just_given_counts_before_anything_is_held(database: Database) -> None:
    _, people = await household_people(database, owner(telegram="9"))
    trust = HouseholdTrust(people, CHANNELS)
    assert not await trust.is_trusted("telegram", "1")

    elsewhere, _ = await household_people(database, owner(telegram="9"))
    await elsewhere.create(
        HOUSEHOLD_OWNER, new_contact(name="Alice", telegram_chat_id="1", trusted=True), source="import", now_us=1
    )

    assert await trust.is_trusted("telegram", "1")
