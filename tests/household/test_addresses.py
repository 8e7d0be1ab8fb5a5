"""How people and their addresses come to be known: settings, links, codes, and proof."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from postroom.conversations.texts import ENGLISH
from postroom.household.people import KnownPerson, id_of, known_person, opened_people, seeds, signing_in
from postroom.household.store import open_store
from postroom.inbox.model import NewNotification
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, Principal, Role
from postroom.people.model import SIGN_IN, NewPerson, Overruled, Person, PersonAddress, PersonRole
from postroom.questions.model import Question
from postroom.settings import Settings
from tests.household.asked_household import ask, letter, parts, phone, press, until, write
from tests.household.living import ASKING, LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

# People of a whole household: from its settings at start, from its tokens, and from what is changed meanwhile.
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
        listed = (await home.api("GET", "/contacts"))[1]["contacts"]

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


# Whom a token is made for, on a database that no household has worked on yet.
async def test_a_contact_of_the_settings_file_is_known_before_the_first_start(home: Path) -> None:
    settings = Settings.model_validate({"home": home, "contacts": [{"name": "Bob Miller", "aliases": ["Bob"]}]})

    found = await known_person(settings, "bob")
    again = await known_person(settings, found.id)

    assert not found.is_new and again == found
    assert await id_of(settings, "Bob Miller") == found.id


async def test_one_who_is_new_is_found_by_the_id_afterwards(home: Path) -> None:
    settings = Settings(home=home)

    assert await id_of(settings, "ada") is None
    assert await known_person(settings, "ada") == KnownPerson(id="ada", is_new=True)
    assert await known_person(settings, "ada") == KnownPerson(id="ada", is_new=False)


async def test_one_more_person_takes_no_role_away(home: Path) -> None:
    settings = Settings(home=home)
    await known_person(settings, "ada")
    async with opened_people(settings) as people:
        await people.edit("ada", lambda one: replace(one, role=PersonRole.APPROVER))

    await known_person(settings, "bob")

    async with opened_people(settings) as people:
        assert ((await people.get("ada")).role, (await people.get("bob")).role) == ("approver", "member")
        assert (await people.get("bob")).source == SIGN_IN


async def test_opening_the_people_again_takes_nothing_away(home: Path) -> None:
    settings = Settings.model_validate({"home": home, "contacts": [{"name": "Bob"}]})
    async with opened_people(settings) as people:
        await people.create(NewPerson(name="Eve"), source="test")

    async with opened_people(Settings(home=home)) as people:  # without the file, which another machine may have
        found = [await people.called(name) for name in ("Bob", "Eve", "owner")]

    assert [len(one) for one in found] == [1, 1, 1]


# A whole household in which people prove who they are, on the sandbox's phone and by mail.
ADA = Principal(Role.PERSON, "ada")
CI = Principal(Role.PROGRAM, "ci", person="ada")
ANN = Principal(Role.USER, "ann")
_LINK = re.compile(r"http://\S+/confirm/[A-Za-z0-9_-]+")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pairing_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    home = tmp_path_factory.mktemp("home")
    tokens = TokenFile(home / "tokens.json")
    for one in (ADA, CI, ANN):
        tokens.create(one)
    async with living(home, LIFTED, QUICK, {"approvals": {"enabled": True}}) as one:
        yield one


async def person(pairing_house: Living, name: str, *places: str) -> str:
    addresses = [dict(zip(("channel", "address"), place.split(":", 1), strict=True)) for place in places]
    body = {"name": name, "role": "member", "addresses": addresses}
    status, answer = await pairing_house.api("POST", "/v1/people", body)
    assert status == 201, answer
    return str(answer["person"]["person_id"])


async def pair(house: Living, person_id: str, channel: str = "telegram", **by: Any) -> tuple[int, dict[str, Any]]:
    return await house.api("POST", f"/v1/people/{person_id}/pair", {"channel": channel}, **by)


async def code_of(pairing_house: Living, person_id: str) -> str:
    status, answer = await pair(pairing_house, person_id)
    assert status == 201, answer
    assert re.fullmatch("[A-Z0-9]{8}", answer["code"]) and answer["link_sent"] is False
    return str(answer["code"])


async def places(pairing_house: Living, person_id: str) -> list[tuple[str, str, bool]]:
    _, answer = await pairing_house.api("GET", f"/v1/people/{person_id}")
    return [(one["channel"], one["address"], one["verified_at"] is not None) for one in answer["person"]["addresses"]]


async def said_to(pairing_house: Living, chat: str, count: int = 1) -> list[str]:
    async def look() -> list[str] | None:
        found = [one["text"] for one in await pairing_house.received() if str(one["chat_id"]) == chat]
        return found if len(found) >= count else None

    return await until(look)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:pairing-code")
async def test_a_person_sends_the_code_and_then_answers_a_question_from_there(pairing_house: Living) -> None:
    anna = await person(pairing_house, "Anna", "telegram:5999")
    code = await code_of(pairing_house, anna)

    await write(pairing_house, f"/start {code}", chat_id="5001")
    assert "verified as yours" in (await said_to(pairing_house, "5001"))[0]
    assert await places(pairing_house, anna) == [("telegram", "5001", True), ("telegram", "5999", False)]

    await pairing_house.api("PATCH", f"/v1/people/{anna}", {"trusted": True})
    view = await ask(pairing_house, question="Is it Anna?", to=anna)
    await press(pairing_house, await phone(pairing_house, "Is it Anna?"), "yes", from_id="5001")

    async def answered() -> Question | None:
        found = await parts(pairing_house).store.get(view.question.id)
        return found if found and found.answered_by else None

    by = (await until(answered)).answered_by
    assert by is not None and (by.person_id, by.name) == (anna, "Anna")
    rows = [row for row in pairing_house.rows("pairing_codes") if row["person_id"] == anna]
    assert [row["used_at"] is not None for row in rows] == [True] and code not in repr(rows)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:pairing-who")
async def test_in_a_group_nothing_is_said_and_a_stranger_learns_nothing(pairing_house: Living) -> None:
    ben = await person(pairing_house, "Ben")
    code = await code_of(pairing_house, ben)

    await write(pairing_house, code, chat_id="-100555", from_id="5002")
    await write(pairing_house, code, chat_id="5003", forwarded=True)
    await write(pairing_house, code, chat_id="5004", from_is_bot=True)
    await write(pairing_house, "ABCD2345", chat_id="5005")
    assert await said_to(pairing_house, "5005") == [ENGLISH.stranger]
    assert await places(pairing_house, ben) == []
    assert not [one for one in await pairing_house.received() if str(one["chat_id"]) == "-100555"]

    await write(pairing_house, code, chat_id="5002")
    assert "verified as yours" in (await said_to(pairing_house, "5002"))[-1]
    assert await places(pairing_house, ben) == [("telegram", "5002", True)]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:pairing-guesses")
async def test_who_guesses_ten_times_is_not_helped_by_the_right_code(pairing_house: Living) -> None:
    carl = await person(pairing_house, "Carl")
    code = await code_of(pairing_house, carl)
    for n in range(10):
        await write(pairing_house, f"WRONG22{n}", chat_id="5006")
    await write(pairing_house, code, chat_id="5006")
    await write(pairing_house, code, chat_id="5007")

    assert "verified as yours" in (await said_to(pairing_house, "5007"))[0]
    assert await places(pairing_house, carl) == [("telegram", "5007", True)]
    assert await said_to(pairing_house, "5006") == [ENGLISH.stranger]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:pairing-taken")
async def test_an_account_of_one_person_never_becomes_anothers(pairing_house: Living) -> None:
    first, second = await person(pairing_house, "Dora"), await person(pairing_house, "Emil")
    await write(pairing_house, await code_of(pairing_house, first), chat_id="5008")
    await said_to(pairing_house, "5008")
    code = await code_of(pairing_house, second)

    await write(pairing_house, code, chat_id="5008")
    await write(pairing_house, code, chat_id="5009")
    await said_to(pairing_house, "5009")

    assert await places(pairing_house, first) == [("telegram", "5008", True)]
    assert await places(pairing_house, second) == [("telegram", "5009", True)]
    assert len(await said_to(pairing_house, "5008")) == 1


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:pairing-link")
async def test_by_mail_a_link_is_sent_that_only_a_press_of_its_button_confirms(pairing_house: Living) -> None:
    fay = await person(pairing_house, "Fay", "email:fay@example.org")
    status, answer = await pair(pairing_house, fay, "email")
    assert (status, answer["code"], answer["link_sent"], answer["sent_to"]) == (201, None, True, "fay@example.org")

    async def look() -> str | None:
        bodies = [one["body"] for one in await pairing_house.received("email") if one["to"] == "fay@example.org"]
        return _LINK.findall(bodies[0])[0] if bodies else None

    link = await until(look)
    async with aiohttp.ClientSession() as http:
        async with http.head(link) as page:
            assert page.status == 200
        async with http.get(link) as page:
            assert (page.status, "fay@example.org" in await page.text()) == (200, True)
        assert await places(pairing_house, fay) == [("email", "fay@example.org", False)]
        async with http.post(link) as page:
            assert page.status == 200
        async with http.post(link) as page:
            assert page.status == 404

    assert await places(pairing_house, fay) == [("email", "fay@example.org", True)]
    status, answer = await pair(pairing_house, fay, "email")
    assert status == 422 and "verified already" in repr(answer)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:here")
async def test_here_is_answered_and_reorders_only_for_the_one_who_has_proved_it(pairing_house: Living) -> None:
    gus = await person(pairing_house, "Gus", "email:gus@example.org")
    await write(pairing_house, "/here", chat_id="5010")
    assert await said_to(pairing_house, "5010") == [ENGLISH.stranger]
    await write(pairing_house, await code_of(pairing_house, gus), chat_id="5010")
    await said_to(pairing_house, "5010", 2)

    await write(pairing_house, "/here", chat_id="5010")

    assert "written to here first" in (await said_to(pairing_house, "5010", 3))[-1]
    assert await places(pairing_house, gus) == [("telegram", "5010", True), ("email", "gus@example.org", False)]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:pairing-doors")
async def test_only_the_owner_and_the_person_themselves_start_it(pairing_house: Living) -> None:
    assert (await pair(pairing_house, "ada", who=ADA))[0] == 201
    assert (await pair(pairing_house, "owner", who=ADA))[0] == 403
    for other in (CI, ANN, "health"):
        assert (await pair(pairing_house, "ada", who=other))[0] == 403
    assert (await pair(pairing_house, "nobody"))[0] == 404

    status, answer = await pair(pairing_house, "ada", "pigeon")
    assert (status, answer["error"]["code"]) == (422, "schema_invalid") and "channel" in repr(answer)
    assert (await pairing_house.api("POST", "/v1/people/ada/pair", {}))[0] == 422


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("chan:pairing-doors")
async def test_the_same_key_has_the_same_code_and_the_code_is_kept_nowhere(pairing_house: Living) -> None:
    hal, ida = await person(pairing_house, "Hal"), await person(pairing_house, "Ida")
    first = await pair(pairing_house, hal, key="k1")
    again = await pair(pairing_house, hal, key="k1")
    other = await pair(pairing_house, ida, key="k1")

    assert first == again and first[0] == 201
    assert other[0] == 409
    codes = [await pair(pairing_house, hal) for _ in range(3)]
    assert [status for status, _ in codes] == [201, 201, 409]
    assert first[1]["code"].encode() not in b"".join(
        file.read_bytes() for file in pairing_house.settings.home.glob("*.db*")
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_a_code_is_good_after_a_restart(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as pairing_house:
        code = await code_of(pairing_house, "owner")
    async with living(tmp_path, LIFTED, QUICK) as pairing_house:
        await write(pairing_house, code, chat_id="5011")
        await said_to(pairing_house, "5011")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert ("telegram", "5011", True) in await places(pairing_house, "owner")


# A whole household that asks an address before it sends copies there.
STRANGER = "stranger@example.com"


ANNA = Principal(Role.USER, "anna")
COPIES = ("sandbox", "messenger", "api")
PREFERENCES = "/notifications/preferences"


async def test_a_copy_leaves_only_after_the_address_was_confirmed(home: Path) -> None:
    async with living(home, ASKING, only=COPIES) as house:
        api, inbox = house.household.addresses["api"], house.household.inbox
        assert inbox is not None
        wished = {"delivery_channel": "both", "email": STRANGER}
        _, kept = await house.api("PATCH", PREFERENCES, wished, who=ANNA)
        assert (kept["email"], kept["email_pending"]) == (None, STRANGER)

        assert (await inbox.send(NewNotification(message="Too early", user_id="anna")))["success"]
        asked = await letter(house, "/confirm/")
        links = _LINK.findall(asked["body"])
        assert (asked["to"], len(links), links[0].startswith(api)) == (STRANGER, 1, True)

        for _ in range(2):  # a mail scanner looks, too
            async with house.http.get(links[0]) as page:
                assert (page.status, "Confirm this address" in await page.text()) == (200, True)
                assert "form-action 'self'" in page.headers["Content-Security-Policy"]
        assert (await inbox.preferences("anna")).email is None

        for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Origin": api}, 200), ({}, 404)):
            async with house.http.post(links[0], headers=headers) as answer:
                assert answer.status == status
        _, kept = await house.api("GET", PREFERENCES, who=ANNA)
        assert (kept["email"], kept["email_pending"]) == (STRANGER, None)

        await inbox.send(NewNotification(message="Dentist at nine", user_id="anna"))
        await letter(house, "Dentist at nine")
        subjects = [one["subject"] for one in await house.received("email")]

    assert sorted(subjects) == ["Info: Dentist at nine", "Please confirm your address"]


async def test_no_mail_that_asks_leaves_while_copies_are_off(home: Path) -> None:
    async with living(home, {"inbox": {"email_enabled": False}}, only=COPIES) as house:
        assert (await house.api("PATCH", PREFERENCES, {"email": STRANGER}, who=ANNA))[0] == 200
        inbox = house.household.inbox
        assert inbox is not None

        due = await inbox.confirmations.take(now_us=inbox.clock.now_us(), lease_until_us=inbox.clock.now_us())

    assert [one.address for one in due] == [STRANGER]
