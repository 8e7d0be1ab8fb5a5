from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.people.known_people import owner

from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import Refused
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER as OWNER
from postroom.people.model import NewPerson, Person, PersonAddress, PersonRole
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople


@pytest.fixture
def contacts(database: Database) -> StoredPeople:
    return StoredPeople(database, IdMint().mint, ())


async def test_a_contact_is_kept_with_its_names_in_their_order(contacts: StoredPeople) -> None:
    new = new_contact(name="Bob Miller", aliases=["Rob", "Bob", "ROB"], telegram_chat_id="2001")

    made = await contacts.create(OWNER, new, source="api", now_us=1)

    assert made.agent_address == f"agent://contact/{made.id}"
    assert made.aliases == ("Rob", "Bob")
    assert await contacts.get(OWNER, made.id) == made
    assert await contacts.get("agent://user/eve", made.id) is None


async def test_a_name_is_looked_up_exactly(contacts: StoredPeople) -> None:
    bob = await contacts.create(OWNER, new_contact(name="Bob Miller", aliases=["Bob"]), source="api", now_us=1)

    assert [one.id for one in await contacts.named(OWNER, "  BOB ")] == [bob.id]
    assert await contacts.named(OWNER, "Bobb") == []


async def test_two_contacts_cannot_have_one_address(contacts: StoredPeople) -> None:
    await contacts.create(OWNER, new_contact(name="Bob", agent="agent://home/bob"), source="api", now_us=1)

    with pytest.raises(Refused):
        await contacts.create(OWNER, new_contact(name="Rob", agent="agent://home/bob"), source="api", now_us=1)
    await contacts.create("agent://user/eve", new_contact(name="Bob", agent="agent://home/bob"), source="api", now_us=1)


async def test_what_did_not_change_keeps_its_entries(contacts: StoredPeople) -> None:
    made = await contacts.create(OWNER, new_contact(name="Bob", aliases=["Rob"]), source="api", now_us=1)
    before = await contacts.entry_ids(OWNER)

    more = new_contact(name="Bob", aliases=["Rob", "Robbie"])
    await contacts.change(OWNER, made.id, lambda _: more, now_us=2)

    after = await contacts.entry_ids(OWNER)
    assert before < after
    assert {entry.alias for entry in await contacts.entries(OWNER, after - before)} == {"Robbie"}


async def test_cards_join_the_contact_they_belong_to(contacts: StoredPeople) -> None:
    bob = await contacts.create(OWNER, new_contact(name="Bob Miller", email="bob@x.org"), source="api", now_us=1)
    cards = [
        new_contact(name="Robert Miller", email="BOB@x.org", telegram_chat_id="2001"),
        new_contact(name="Bob Miller", email="other@x.org"),
        new_contact(name="Anna"),
    ]

    assert await contacts.merge(OWNER, cards, source="import", now_us=2) == (2, 1)
    assert await contacts.merge(OWNER, cards, source="import", now_us=3) == (0, 0)
    joined = await contacts.get(OWNER, bob.id)
    assert joined is not None
    assert (joined.aliases, joined.address_on("telegram")) == (("Robert Miller",), "2001")


async def test_two_people_of_one_name_in_the_settings_stay_two(contacts: StoredPeople) -> None:
    wanted = [new_contact(name="Alice", telegram_chat_id=chat) for chat in ("1", "2")]

    for _ in range(2):
        await contacts.keep_in_step(OWNER, wanted, now_us=1)

    assert sorted(one.address_on("telegram") or "" for one in await contacts.named(OWNER, "alice")) == ["1", "2"]
    await contacts.keep_in_step(OWNER, wanted[1:], now_us=1)
    assert [one.address_on("telegram") for one in await contacts.named(OWNER, "alice")] == ["2"]


@pytest.mark.parametrize("address", ["bob@x.org", "BOB@X.org", "2001", "@bobm", "agent://home/bob"])
async def test_a_contact_is_found_under_each_of_its_addresses(contacts: StoredPeople, address: str) -> None:
    chat = "@BobM" if address.startswith("@") else "2001"
    bob = new_contact(name="Bob", email="bob@x.org", telegram_chat_id=chat, agent="agent://home/bob")
    made = await contacts.create(OWNER, bob, source="api", now_us=1)

    assert await contacts.by_address(OWNER, address) == made
    assert await contacts.by_address(OWNER, "Bob") is None


async def test_two_changes_at_once_both_count(contacts: StoredPeople) -> None:
    bob = await contacts.create(OWNER, new_contact(name="Bob", telegram_chat_id="2001"), source="api", now_us=1)

    def named(alias: str) -> Callable[[Person], NewPerson]:
        return lambda known: new_contact(name=known.name, aliases=[*known.aliases, alias], own_id=known.id)

    names = [f"Rob {number}" for number in range(6)]
    await asyncio.gather(*(contacts.change(OWNER, bob.id, named(alias), now_us=2) for alias in names))

    changed = await contacts.get(OWNER, bob.id)
    assert changed is not None and sorted(changed.aliases) == names
    assert await contacts.change(OWNER, "nobody", named("Rob"), now_us=3) is None
    assert await contacts.change("agent://user/eve", bob.id, named("Eve"), now_us=3) is None


@pytest.mark.requirement("house:one-record")
async def test_a_person_has_addresses_on_any_channel_the_first_by_rank(contacts: StoredPeople) -> None:
    places = (
        PersonAddress(channel="slack", address="U02", rank=3, label="work"),
        PersonAddress(channel="ntfy", address="Bob-Phone", rank=1),
        PersonAddress(channel="slack", address="U01", rank=2, verified_at_us=7),
        PersonAddress(channel="slack", address="u01", rank=9),
    )
    new = NewPerson(name="Bob", role=PersonRole.MEMBER, zone="Asia/Tokyo", language="ja", addresses=places)

    made = await contacts.create(OWNER, new, source="api", now_us=1)

    assert made == await contacts.get(OWNER, made.id)
    assert (made.role, made.zone, made.language) == (PersonRole.MEMBER, "Asia/Tokyo", "ja")
    assert [one.address for one in made.addresses] == ["Bob-Phone", "U01", "U02"]
    assert made.address_on("slack") == "U01"
    assert [one.id for one in await contacts.at(OWNER, "slack", " u02 ")] == [made.id]
    assert await contacts.at(OWNER, "ntfy", "u02") == []
    assert await contacts.by_address(OWNER, "bob-phone") is None  # a word is a name before it is an address


async def test_an_address_is_proved_to_be_one_persons_at_most(contacts: StoredPeople) -> None:
    def at(verified_at_us: int | None) -> NewPerson:
        place = PersonAddress(channel="telegram", address="@Bob_M", verified_at_us=verified_at_us)
        return NewPerson(name="Bob", addresses=(place,))

    await contacts.create(OWNER, at(5), source="api", now_us=1)
    shared = await contacts.create(OWNER, at(None), source="api", now_us=1)
    await contacts.create("agent://user/eve", at(5), source="api", now_us=1)

    with pytest.raises(Refused, match="another person has proved"):
        await contacts.change(OWNER, shared.id, lambda _: at(6), now_us=2)


@pytest.mark.parametrize("address", ["@\u212aelvin_x", "@kelvin_\u0131"])
@pytest.mark.requirement("house:one-folding")
async def test_letters_that_only_look_like_ours_are_other_addresses(contacts: StoredPeople, address: str) -> None:
    place = PersonAddress(channel="telegram", address="@Kelvin_I")
    made = await contacts.create(OWNER, NewPerson(name="K", addresses=(place,)), source="api", now_us=1)

    assert [one.id for one in await contacts.at(OWNER, "telegram", "@kelvin_i")] == [made.id]
    assert await contacts.at(OWNER, "telegram", address) == []


@pytest.mark.requirement("house:one-owner")
async def test_the_owner_stays_the_owner_and_no_other_becomes_it(contacts: StoredPeople) -> None:
    await contacts.keep_in_step(OWNER, [owner("Olivia", "1000")], now_us=1)
    bob = await contacts.create(OWNER, NewPerson(name="Bob"), source="api", now_us=1)

    for person_id, role in ((bob.id, PersonRole.OWNER), ("owner", PersonRole.MEMBER)):
        with pytest.raises(Refused, match="role"):
            await contacts.change(OWNER, person_id, changed_role(role), now_us=2)
    with pytest.raises(Refused, match="role"):
        await contacts.create(OWNER, NewPerson(name="Eve", role=PersonRole.OWNER), source="api", now_us=2)
    with pytest.raises(Refused, match="cannot be removed"):
        await contacts.delete(OWNER, "owner")
    moved = await contacts.change(
        OWNER, "owner", lambda one: replace(one.as_written, agent_address="agent://home/eve"), now_us=2
    )
    assert moved is not None and moved.agent_address == OWNER


def changed_role(role: PersonRole) -> Callable[[Person], NewPerson]:
    return lambda one: replace(one.as_written, role=role)


@pytest.mark.requirement("house:one-record")
async def test_people_are_found_by_id_name_or_alias_and_the_owner_by_that_word_alone(contacts: StoredPeople) -> None:
    await contacts.keep_in_step(OWNER, [owner("Olivia", "1000")], now_us=1)
    bob = await contacts.create(OWNER, new_contact(name="Bob", aliases=["Owner"]), source="api", now_us=1)

    async def found(who: str) -> list[str]:
        return [one.id for one in await contacts.find(OWNER, who)]

    assert [await found(who) for who in (bob.id, " bob ")] == [[bob.id], [bob.id]]
    assert [await found(who) for who in ("owner", "OWNER", "olivia")] == [["owner"], ["owner"], ["owner"]]
    assert await found("nobody") == []


@pytest.mark.requirement("house:one-record")
async def test_those_who_sign_in_have_a_record_and_are_no_contacts(contacts: StoredPeople) -> None:
    await contacts.keep_in_step(OWNER, [owner("Olivia", "1000", "o@x.org")], now_us=1)
    roles = {"anna": PersonRole.MEMBER, "ben": PersonRole.APPROVER, "owner": PersonRole.MEMBER}
    for now_us in (1, 2):
        await contacts.admit(roles, now_us=now_us)

    everybody = {one.id: one.role for one in await contacts.page(OWNER, after=None, limit=50)}
    assert everybody == {
        "anna": PersonRole.MEMBER,
        "ben": PersonRole.APPROVER,
        "owner": PersonRole.OWNER,
    }
    assert await contacts.page(OWNER, after=None, limit=50, only_contacts=True) == []
    assert (await contacts.entries(OWNER), await contacts.entry_ids(OWNER)) == ([], set())
    for address in ("agent://user/anna", OWNER, "o@x.org", "1000"):
        assert await contacts.by_address(OWNER, address) is None


async def test_one_who_signs_in_leaves_a_contact_its_agent_address(contacts: StoredPeople) -> None:
    known = await contacts.create(OWNER, new_contact(name="Anna", agent="agent://user/anna"), source="api", now_us=1)

    await contacts.admit({"anna": PersonRole.MEMBER}, now_us=1)

    assert await contacts.by_address(OWNER, "agent://user/anna") == known
    assert await contacts.get(OWNER, "anna") is not None


MAIL = PersonAddress(channel="email", address="anna@example.org")
FAX = PersonAddress(channel="fax", address="1")
PEOPLE = [
    NewPerson(name="Anna Kovács", aliases=("Annie",), addresses=(MAIL, FAX)),
    NewPerson(name="Анна Петрова", role=PersonRole.MEMBER),
    NewPerson(name="Joanna", role=PersonRole.APPROVER),
    NewPerson(name="100% sure"),
    new_contact(name="Łukasz Żak", aliases=["Luke"], telegram_chat_id="4711"),
    new_contact(name="Иван Петров", email="ivan@example.org"),
    new_contact(name="Hanna-Maria", agent="agent://home/hanna"),
]


@pytest.fixture
async def search(database: Database) -> StoredPeople:
    book = StoredPeople(database, IdMint().mint, ())
    for one in PEOPLE:
        await book.create(OWNER, one, source="api", now_us=1)
    eves = NewPerson(name="Anna of Eve", aliases=("Luke",), addresses=(FAX,))
    await book.create("agent://user/eve", eves, source="api", now_us=1)
    return book


async def names(search: StoredPeople, begins: str | None, role: PersonRole | None = None) -> list[str]:
    return [one.name for one in await search.page(OWNER, begins=begins, role=role, after=None, limit=50)]


async def test_a_name_is_found_by_how_it_begins(search: StoredPeople) -> None:
    beginnings = {
        "anna": ["Anna Kovács", "Анна Петрова"],  # in any script, and not inside a name
        "ANNA KOVACS": ["Anna Kovács"],
        "anni": ["Anna Kovács"],
        "%": [],  # a wildcard is only a sign
        "1": ["100% sure"],
        "": [one.name for one in PEOPLE],
    }
    for begins, found in beginnings.items():
        assert [one.name for one in await search.page(OWNER, begins=begins, after=None, limit=50)] == found, begins


async def test_channels_that_lead_nowhere_are_found_in_the_book_alone(search: StoredPeople) -> None:
    assert await search.unreachable(OWNER, ["email", "telegram"], 10) == [("Anna Kovács", "fax")]
    assert await search.unreachable(OWNER, ["email", "fax", "telegram"], 10) == []


async def test_words_are_looked_for(search: StoredPeople) -> None:
    looked_for = {
        "uka": ["Łukasz Żak"],  # inside a name
        "LUKE": ["Łukasz Żak"],  # an alias, and nobody else's
        "zak": ["Łukasz Żak"],  # without marks
        "ivan p": ["Иван Петров"],  # in other letters
        "ivan@EXAMPLE": ["Иван Петров"],
        "4711": ["Łukasz Żak"],
        "home/hanna": ["Hanna-Maria"],
        "%": [],  # a wildcard is only a sign
        "nobody": [],
    }
    for words, found in looked_for.items():
        assert [one.name for one in await search.search(OWNER, words, after=None, limit=50)] == found, words


async def test_without_words_everybody_comes_once_page_by_page_and_a_place_that_is_gone_begins_again(
    search: StoredPeople,
) -> None:
    everybody, after, seen = await search.search(OWNER, " ", after=None, limit=50), None, list[Person]()

    while page := await search.search(OWNER, "", after=after, limit=2):
        seen += page
        after = page[-1].id

    assert seen == everybody == await search.search(OWNER, "", after="gone", limit=50)
    assert sorted(one.name for one in seen) == sorted(one.name for one in PEOPLE)
