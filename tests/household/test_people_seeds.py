"""People of a whole household: from its settings at start, from its tokens, and from what is changed meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.household.living import QUICK, Living, living

from postroom.household.wiring.people import seeds, signing_in
from postroom.household.wiring.store import open_store
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, Principal, Role
from postroom.people.model import Overruled, Person, PersonAddress, PersonRole
from postroom.settings import Settings

FILE: dict[str, Any] = {
    "owner": {"name": "Olivia"},
    "contacts": [{"name": "Bob", "telegram_chat_id": "2001"}],
}


def in_database(**changes: Any) -> Any:
    return lambda person: replace(person.as_written, **changes)


async def people_of(home: Living) -> dict[str, Person]:
    async with open_store(home.settings) as store:
        return {one.id: one for one in await store.people.page(HOUSEHOLD_OWNER, after=None, limit=50)}


@pytest.mark.requirement("house:one-record")
async def test_a_start_makes_records_of_the_owner_the_contacts_and_those_who_sign_in(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    tokens.ensure([Principal(Role.PERSON, "anna"), Principal(Role.USER, "ben"), Principal(Role.PERSON, "owner")])

    async with living(tmp_path, FILE, {"approvals": {"approvers": ["ben", "carl"]}}) as home:
        found = await people_of(home)
        async with home.http.get(
            home.household.addresses["api"] + "/contacts", headers={"Authorization": f"Bearer {home.token('operator')}"}
        ) as response:
            listed = (await response.json())["contacts"]

    bob = next(one for one in found.values() if one.name == "Bob")
    assert {one.id: one.role for one in found.values() if one is not bob} == {
        "owner": PersonRole.OWNER,
        "anna": PersonRole.MEMBER,
        "ben": PersonRole.APPROVER,
        "carl": PersonRole.APPROVER,
    }
    assert found["owner"].name == "Olivia"
    assert {one.channel for one in found["owner"].addresses if one.verified_at_us} == {"telegram", "email"}
    assert [one.verified_at_us for one in bob.addresses] == [None]
    assert [one["name"] for one in listed] == ["Bob"]  # neither the owner nor those who only sign in


@pytest.mark.requirement("house:owner-anywhere")
@pytest.mark.requirement("house:file-until-changed")
async def test_the_owner_moves_in_the_database_and_the_file_says_nothing_any_more(tmp_path: Path) -> None:
    moved = (PersonAddress(channel="telegram", address="4242", verified_at_us=1),)
    async with living(tmp_path, QUICK, FILE) as home:
        await home.notify(message="to the first place")
        async with open_store(home.settings) as store:
            await store.people.change(HOUSEHOLD_OWNER, "owner", in_database(addresses=moved), now_us=1)
    async with living(tmp_path, QUICK, FILE) as home:
        await home.notify(message="to the second place")
        await home.notify(message="by name", recipient="Olivia")
        places = [(str(one["chat_id"]), one["text"]) for one in await home.received()]
        async with open_store(home.settings) as store:
            overruled = await store.people.overruled(HOUSEHOLD_OWNER, seeds(home.settings))

    assert places == [("1000", "to the first place"), ("4242", "to the second place"), ("4242", "by name")]
    assert overruled == [Overruled(name="Olivia", fields=("telegram", "email"))]


def test_those_who_approve_are_more_than_members_and_the_owners_names_are_left_out() -> None:
    callers = [OPERATOR, *(Principal(role, role.value) for role in Role), Principal(Role.PERSON, "owner")]

    found = signing_in(callers, ["user", "dora", "operator"])

    assert found == {"person": PersonRole.MEMBER, "user": PersonRole.APPROVER, "dora": PersonRole.APPROVER}


@pytest.mark.requirement("chan:addresses-in-settings")
def test_the_settings_name_addresses_on_any_channel_and_vouch_for_the_owners(tmp_path: Path) -> None:
    written = {
        "home": tmp_path,
        "owner": {"telegram_chat_id": "1", "email": "me@x.org", "addresses": ["telegram:2", "telegram:1"]},
        "contacts": [{"name": "Bob", "email": "bob@x.org", "addresses": ["telegram:3", "email:Bob@X.org"]}],
    }

    owner, bob = seeds(Settings.model_validate(written), 7)

    assert [(one.channel, one.address, one.rank, one.verified_at_us) for one in owner.addresses] == [
        ("telegram", "1", 1, 7),
        ("email", "me@x.org", 2, 7),
        ("telegram", "2", 3, 7),
    ]
    assert [(one.channel, one.address, one.verified_at_us) for one in bob.addresses] == [
        ("email", "bob@x.org", None),
        ("telegram", "3", None),
    ]


@pytest.mark.requirement("chan:addresses-in-settings")
def test_an_address_in_the_settings_that_is_none_is_named_with_its_field(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"owner\.addresses: 'pigeon' is none of the channels"):
        seeds(Settings.model_validate({"home": tmp_path, "owner": {"addresses": ["pigeon:7"]}}))
    bob = {"name": "Bob", "addresses": ["email:nowhere"]}
    with pytest.raises(SettingsError, match="addresses of Bob: 'nowhere' is no address of email"):
        seeds(Settings.model_validate({"home": tmp_path, "contacts": [bob]}))
