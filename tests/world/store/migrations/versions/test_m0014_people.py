"""A household of the version before, with something in every table, finds all of it again after the upgrade."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection
from tests.clock import FakeClock
from tests.opened_database import KINDS
from tests.world.store.migrations.filled import Rows, everything, fill

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.contact import DecisionMode, MatchType
from postroom.domain.ids import IdMint
from postroom.domain.person import NewPerson, PersonAddress, PersonRole
from postroom.work.people.confirm import Confirmation, Confirmer
from postroom.work.people.new_contact import new_contact
from postroom.work.people.normalise import keys_of
from postroom.work.people.resolve import Resolver, hash_token
from postroom.world.store.engine import migrate
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.inbox.preferences import StoredPreferences
from postroom.world.store.people.contacts_memory import StoredMemory
from postroom.world.store.people.people import StoredPeople

BOB, ANN, ZOE = (f"0189a5d0-0000-7000-8000-00000000000{number}" for number in (1, 2, 3))
CHANGED = {"contacts", "contact_memory", "contact_offers"}  # the rest is as it was, to the letter
MOVED = {"quiet_hours_start", "quiet_hours_end", "quiet_hours_timezone"}  # into the policy, or said anew, later
FOREVER = 9_000_000_000_000_000


def contact(person_id: str, name: str, chat: str | None, email: str | None, **more: Any) -> dict[str, Any]:
    own = {"id": person_id, "owner_agent": HOUSEHOLD_OWNER, "name": name, "trusted": False, "source": "api"}
    places = {"telegram_chat_id": chat, "email": email, "agent_address": f"agent://contact/{person_id}"}
    return own | places | more


CONTACTS = [
    contact(BOB, "Bob Miller", "@bobm", "bob@x.org", trusted=True),
    contact(ANN, "Ann", None, "ann@x.org", source="settings", agent_address="agent://user/anna"),
    contact(ZOE, "Zoë", None, None, owner_agent="agent://user/eve"),
]


def fingerprint(row: dict[str, Any]) -> str:
    """As it was then."""
    parts = [row["agent_address"], row["telegram_chat_id"], row["email"]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def alias(number: int, person: dict[str, Any], name: str, is_name: bool) -> dict[str, Any]:
    keys = keys_of(name)
    return {
        "id": f"alias-{number}",
        "contact_id": person["id"],
        "owner_agent": person["owner_agent"],
        "alias": name,
        "is_name": is_name,
        "normal": keys.normal,
        "folded": keys.folded,
        "latin": keys.latin,
        "skeletons": json.dumps(keys.skeletons),
        "script": keys.script,
    }


def memory(number: int, query: str, person: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
    said = {"id": f"memory-{number}", "query": query, "contact_id": person["id"], "alias": name, "book_version": 3}
    where = {"owner_agent": person["owner_agent"], "agent_address": person["agent_address"]}
    return said | where | {"fingerprint": fingerprint(person), **more}


def wishes(user_id: str, email: str | None, zone: str, start: str | None) -> dict[str, Any]:
    quiet = {"quiet_hours_start": start, "quiet_hours_end": start and "07:00:00", "quiet_hours_timezone": zone}
    return {"user_id": user_id, "email": email, "email_pending": None, **quiet}


def offer(person: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "agent_address": person["agent_address"],
        "display_name": person["name"],
        "alias": "Bob Miller",
        "match_type": "fuzzy",
        "score": 0.8,
        "hint": "",
        "why": "",
        "contact_id": person["id"],
        "fingerprint": fingerprint(person),
    }
    row = {"token_hash": hash_token("a-token-of-then"), "owner_agent": HOUSEHOLD_OWNER, "query": "bob milller"}
    return row | {"candidates": json.dumps([shown]), "expires_at": FOREVER}


SPECIAL = {
    "contacts": CONTACTS,
    "contact_books": [{"owner_agent": HOUSEHOLD_OWNER, "version": 3}],
    "contact_aliases": [
        alias(1, CONTACTS[0], "Bob Miller", True),
        alias(2, CONTACTS[0], "Bobby", False),
        alias(3, CONTACTS[1], "Ann", True),
        alias(4, CONTACTS[2], "Zoë", True),
    ],
    "contact_memory": [
        memory(1, "bobo", CONTACTS[0], "Bobby"),
        memory(2, "the one who moved", CONTACTS[0], "Bobby", fingerprint="of another address"),
    ],
    "contact_offers": [offer(CONTACTS[0]), {"candidates": "[]"}],
    "notification_preferences": [
        wishes("operator", "Home@x.org", "Europe/Rome", "22:00:00"),
        wishes("anna", "home@x.org", "UTC", None),
        wishes("Ben Ö", None, "Asia/Tokyo", None),
        wishes("owner", "not@the-owner.org", "UTC", None),
    ],
}


def written_before(connection: Connection) -> Rows:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0013")
    fill(connection, SPECIAL)
    return everything(connection)


@pytest.fixture(params=KINDS)
async def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Database, Rows, Rows]]:
    database: Database = (
        SqliteDatabase(tmp_path / "before.db")
        if request.param == "sqlite"
        else PostgresDatabase(request.getfixturevalue("new_postgres_url"))
    )
    try:
        before = await database.write(written_before)
        assert (await database.migrate())[0] == "0013"
        yield database, before, await database.read(everything)
    finally:
        await database.close()


def stored(database: Database) -> StoredPeople:
    return StoredPeople(database, IdMint().mint, keys_of)


@pytest.mark.requirement("house:upgrade-keeps-people")
async def test_nothing_is_lost_from_any_table(upgraded: tuple[Database, Rows, Rows]) -> None:
    _, before, after = upgraded

    assert all(before.values())
    for name in (before.keys() & after.keys()) - CHANGED:
        columns = before[name][0].keys() - MOVED  # later versions may have more of them
        assert [{key: row[key] for key in columns} for row in after[name]] == [
            {key: row[key] for key in columns} for row in before[name]
        ]
    for name in ("contact_memory", "contact_offers"):
        own = {"fingerprint", "candidates"}
        kept = [[{key: row[key] for key in row.keys() - own} for row in rows[name]] for rows in (before, after)]
        assert kept[0] == kept[1]


@pytest.mark.requirement("house:upgrade-keeps-people")
async def test_contacts_are_people_with_the_same_ids_and_addresses(upgraded: tuple[Database, Rows, Rows]) -> None:
    database, before, _ = upgraded
    people = stored(database)
    rows = {row["id"]: row for row in before["contacts"]}

    bob = await people.get(HOUSEHOLD_OWNER, BOB)
    zoe = await people.get("agent://user/eve", ZOE)

    assert bob is not None and zoe is not None
    assert (bob.name, bob.aliases, bob.trusted, bob.role) == ("Bob Miller", ("Bobby",), True, PersonRole.CONTACT)
    assert (bob.created_at_us, bob.updated_at_us) == (rows[BOB]["created_at"], rows[BOB]["updated_at"])
    assert bob.addresses == (
        PersonAddress(channel="telegram", address="@bobm", rank=1),
        PersonAddress(channel="email", address="bob@x.org", rank=2),
    )
    assert zoe.addresses == ()
    listed = await people.page(HOUSEHOLD_OWNER, after=None, limit=50, only_contacts=True)
    assert [one.id for one in listed] == sorted(
        one["id"] for one in before["contacts"] if one["owner_agent"] == HOUSEHOLD_OWNER
    )


@pytest.mark.requirement("house:upgrade-keeps-people")
async def test_what_was_confirmed_and_what_was_offered_still_holds(
    upgraded: tuple[Database, Rows, Rows], clock: FakeClock
) -> None:
    database, _, _ = upgraded
    memories = StoredMemory(database, keys_of)
    resolver = Resolver(books=stored(database), memories=memories, clock=clock, new_token=lambda: "another-token")
    confirmer = Confirmer(resolver=resolver, store=memories, clock=clock, mint=IdMint().mint)

    found = await resolver.resolve(HOUSEHOLD_OWNER, "bobo")
    kept = await confirmer.confirm(
        Confirmation(owner_agent=HOUSEHOLD_OWNER, query="bob milller", resolution_token="a-token-of-then"),
        by_person=False,
    )

    assert (found.decision_mode, found.match_type) == (DecisionMode.RESOLVED, MatchType.MEMORY)
    assert kept.contact_id == BOB
    await stored(database).change(
        HOUSEHOLD_OWNER, BOB, lambda known: NewPerson(name=known.name, aliases=known.aliases), now_us=1
    )
    moved = await resolver.resolve(HOUSEHOLD_OWNER, "bobo")
    assert moved.match_type is not MatchType.MEMORY


@pytest.mark.requirement("house:upgrade-keeps-people")
async def test_those_with_an_inbox_are_people_and_the_operator_is_the_owner(
    upgraded: tuple[Database, Rows, Rows],
) -> None:
    database, before, _ = upgraded
    people = stored(database)
    rows = {row["user_id"]: row for row in before["notification_preferences"]}
    await people.admit({}, now_us=1)

    owner, anna, ben = [await people.get(HOUSEHOLD_OWNER, one) for one in ("owner", "anna", "Ben Ö")]

    assert owner is not None and anna is not None and ben is not None
    assert (owner.role, owner.agent_address, owner.zone) == (PersonRole.OWNER, HOUSEHOLD_OWNER, "Europe/Rome")
    assert [(one.address, one.verified_at_us, one.label) for one in owner.addresses] == [
        ("Home@x.org", rows["operator"]["updated_at"], "inbox")
    ]
    assert (anna.name, anna.role, anna.zone) == ("anna", PersonRole.MEMBER, None)
    assert [(one.address, one.verified_at_us) for one in anna.addresses] == [("home@x.org", None)]  # the owner's first
    assert (ben.zone, ben.addresses) == ("Asia/Tokyo", ())
    assert [one.id for one in await people.named(HOUSEHOLD_OWNER, "ben ö")] == ["Ben Ö"]
    assert (await StoredPreferences(database).of("anna")).email == "home@x.org"
    assert await people.at(HOUSEHOLD_OWNER, "email", "not@the-owner.org") == []


@pytest.mark.requirement("house:upgrade-keeps-people")
async def test_the_first_start_after_it_keeps_the_contacts_of_the_file(upgraded: tuple[Database, Rows, Rows]) -> None:
    database, _, _ = upgraded
    people = stored(database)
    file = [NewPerson(name="Olivia", role=PersonRole.OWNER), new_contact(name="Ann", email="ann@new.org")]

    await people.keep_in_step(HOUSEHOLD_OWNER, file, now_us=1)

    ann, owner = await people.get(HOUSEHOLD_OWNER, ANN), await people.get(HOUSEHOLD_OWNER, "owner")
    assert ann is not None and owner is not None
    assert ann.address_on("email") == "ann@new.org"
    assert (owner.name, owner.zone, owner.address_on("email")) == ("Olivia", "Europe/Rome", "Home@x.org")
