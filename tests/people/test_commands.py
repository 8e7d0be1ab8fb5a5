"""`postroom contacts import`: a file becomes contacts, once."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.cli.command import Done, postroom, postroom_beside
from tests.contract.bot_api import BotApi, refused
from tests.household.living import LIFTED, QUICK, Living, living
from tests.services.ports import free_port

from postroom.sandbox.server import Sandbox, SandboxOptions

TABLE = "name,aliases,telegram_chat_id\nBob Miller,Bob;Uncle Bob,2001\nMaria Rossi,,2002\n,,2003\n"
CARDS = "BEGIN:VCARD\nVERSION:3.0\nFN:Bob Miller\nEMAIL:bob@example.org\nEND:VCARD\n"


def test_the_same_file_twice_changes_nothing_and_another_adds_to_whom_it_knows(home: Path, tmp_path: Path) -> None:
    table, cards = tmp_path / "people.csv", tmp_path / "people.vcf"
    table.write_text(TABLE)
    cards.write_text(CARDS)

    first = postroom("contacts", "import", str(table))
    again = json.loads(postroom("contacts", "import", str(table), "--json").out)
    more = json.loads(postroom("contacts", "import", str(cards), "--json").out)

    assert first.out.splitlines()[0] == "2 new, 0 added to, 1 left out."
    assert "card 4: name:" in first.out
    assert (again["created"], again["updated"]) == (0, 0)
    assert (more["created"], more["updated"]) == (0, 1)


async def test_a_running_household_knows_the_new_contact_at_once(home: Path, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text(TABLE)
    async with living(home, QUICK) as household:
        assert (await postroom_beside("contacts", "import", str(table))).code == 0
        answer = await household.notify(recipient="Uncle Bob")
        received = await household.received()

    assert answer["status"] == "ok"
    assert [message["chat_id"] for message in received] == ["2001"]


def test_the_book_is_listed_by_name(home: Path, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text(TABLE)

    empty = postroom("contacts", "list")
    postroom("contacts", "import", str(table))
    listed, documents = postroom("contacts", "list"), json.loads(postroom("contacts", "list", "--json").out)

    assert empty.code == 0 and "postroom contacts import" in empty.out
    assert listed.out.splitlines() == ["Bob Miller (Bob, Uncle Bob)  telegram 2001", "Maria Rossi  telegram 2002"]
    assert [one["name"] for one in documents] == ["Bob Miller", "Maria Rossi"]
    assert documents[0]["telegram_chat_id"] == "2001" and documents[0]["id"]


TOKEN = "4242:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
SETTINGS = "# mine, with a tab\t\n[owner]\nname = 'Ada'   # me\n\n[ports]\napi=40777\n"


@pytest.fixture
async def bot(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sandbox]:
    monkeypatch.setenv("BUTLER_TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("POSTROOM_PORTS__MESSENGER", str(free_port()))
    async with Sandbox(SandboxOptions(token=TOKEN)) as sandbox:
        monkeypatch.setenv("POSTROOM_TELEGRAM__API_BASE_URL", sandbox.bot_api_url)
        yield sandbox


async def write_to(bot: Sandbox, chat_id: int = 4711, name: str = "Ada") -> None:
    body = {"chat_id": chat_id, "text": "hello", "from_name": name}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{bot.bot_api_url}/sandbox/telegram/inbound", json=body) as response,
    ):
        assert response.status == 200


async def owner(*arguments: str, typed: str | None = None) -> Done:
    return await asyncio.to_thread(lambda: postroom("owner", "--telegram", *arguments, typed=typed))


async def test_a_message_that_comes_while_it_waits_makes_its_sender_the_owner(bot: Sandbox, home: Path) -> None:
    file = home / "postroom.toml"
    file.write_text(SETTINGS)
    waiting = asyncio.create_task(owner("--yes", "--wait", "30"))
    await write_to(bot)
    done = await waiting
    shown = await postroom_beside("owner")

    assert done.code == 0 and "Ada (id 4711) is the owner now" in done.out
    assert file.read_text() == SETTINGS.replace("[owner]\n", '[owner]\ntelegram_chat_id = "4711"\n')
    assert shown.out == "Ada: telegram 4711\n"
    assert TOKEN not in done.out + done.error


async def test_a_person_is_asked_about_each_sender_in_turn(bot: Sandbox, home: Path) -> None:
    await write_to(bot, 1, "Mallory")
    await write_to(bot, 2, "Ada")

    done = await owner("--wait", "30", typed="n\ny\n")

    assert done.code == 0 and "Mallory (id 1) wrote to the bot" in done.out
    assert (home / "postroom.toml").read_text() == '[owner]\ntelegram_chat_id = "2"\n'


async def test_without_a_question_nothing_is_chosen_among_several(bot: Sandbox, home: Path) -> None:
    await write_to(bot, 1, "Mallory")
    await write_to(bot, 2, "Ada")

    done = await owner("--yes", "--wait", "30")

    assert done.code == 1 and "Mallory (id 1), Ada (id 2)" in done.error
    assert not (home / "postroom.toml").exists()


async def test_a_file_that_is_kept_elsewhere_is_not_touched(
    bot: Sandbox, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "settings.toml"
    elsewhere.write_text(SETTINGS)
    monkeypatch.setenv("POSTROOM_CONFIG", str(elsewhere))
    await write_to(bot)

    done = await owner("--yes", "--wait", "30")

    assert done.code == 0 and done.out == '[owner]\ntelegram_chat_id = "4711"\n'
    assert elsewhere.read_text() == SETTINGS and not (home / "postroom.toml").exists()


async def test_a_variable_that_wins_over_the_file_is_named(
    bot: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_OWNER__TELEGRAM_CHAT_ID", "99")
    await write_to(bot)

    assert "POSTROOM_OWNER__TELEGRAM_CHAT_ID is set to another chat" in (await owner("--yes", "--wait", "30")).error


async def test_time_that_passes_without_a_message_is_a_sentence(bot: Sandbox) -> None:
    done = await owner("--wait", "0.1")

    assert done.code == 1 and "No owner wrote to the bot" in done.error


async def test_a_running_household_reads_the_bots_messages_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("BUTLER_TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("POSTROOM_PORTS__MESSENGER", str(port))
    async with living(home, QUICK, {"ports": {"messenger": port}}):
        done = await owner("--wait", "1")

    assert done.code == 1 and "stop it, then ask again" in done.error


async def test_another_reader_of_the_bot_is_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUTLER_TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("POSTROOM_PORTS__MESSENGER", str(free_port()))
    async with BotApi() as provider:
        provider.behave(refused(409, "Conflict: terminated by other getUpdates request"))
        monkeypatch.setenv("POSTROOM_TELEGRAM__API_BASE_URL", provider.url)
        done = await owner("--wait", "5")

    assert done.code == 1 and "(409)" in done.error and TOKEN not in done.error


@pytest.mark.usefixtures("home")
def test_without_a_bot_it_says_where_one_comes_from() -> None:
    done = postroom("owner", "--telegram")

    assert done.code == 1 and "BUTLER_TELEGRAM_TOKEN" in done.error


@pytest.mark.usefixtures("home")
def test_how_long_it_waits_is_written_as_everywhere_else() -> None:
    for length, words in (("2h", "at most an hour"), ("0", "more than nothing"), ("soon", "90s")):
        done = postroom("owner", "--telegram", "--wait", length)
        assert done.code == 2 and words in done.error, length


@pytest.mark.usefixtures("home")
def test_without_an_option_it_shows_where_the_owner_is_reached() -> None:
    assert "postroom owner --telegram" in postroom("owner").out
    assert json.loads(postroom("owner", "--json").out) == {
        "name": "",
        "telegram_chat_id": None,
        "email": None,
        "addresses": [],
    }


def documents(done: Done) -> Any:
    assert done.code == 0, done.error
    return json.loads(done.out)


@pytest.mark.requirement("chan:pairing-code", "chan:pairing-doors")
def test_a_code_is_shown_with_when_it_ends_and_three_are_open_at_most(home: Path) -> None:
    shown = postroom("pair", "owner", "--channel", "telegram")
    assert shown.code == 0, shown.error
    code, how, until = shown.out.splitlines()
    assert re.fullmatch("[A-Z0-9]{8}", code)
    assert "to the bot on telegram" in how and re.search(r"ends in \d+ minutes\.$", until)

    told = documents(postroom("pair", "owner", "--channel", "telegram", "--json"))
    assert set(told) == {"person_id", "name", "channel", "code", "link_sent", "sent_to", "expires_at"}
    assert (told["person_id"], told["channel"], told["link_sent"]) == ("owner", "telegram", False)
    assert postroom("pair", "owner", "--channel", "telegram").code == 0

    too_many = postroom("pair", "owner", "--channel", "telegram")
    assert too_many.code == 1 and "3 codes or links of this person are open already" in too_many.error


@pytest.mark.requirement("chan:pairing-link")
def test_by_mail_the_address_is_named_and_a_person_without_one_is_refused(home: Path) -> None:
    postroom("people", "add", "Anna", "--address", "email:anna@x.org")
    postroom("people", "add", "Ben")

    sent = postroom("pair", "Anna", "--channel", "email")
    assert sent.code == 0 and "A link goes to anna@x.org on email" in sent.out

    for who, channel, said in (
        ("Ben", "email", "--channel: Ben has no address there"),
        ("Ben", "pigeon", "--channel: must be one that is set up: telegram, email"),
        ("Nobody", "telegram", "nobody called 'Nobody'"),
    ):
        refused = postroom("pair", who, "--channel", channel)
        assert refused.code == 1 and said in refused.error, refused.error


@pytest.mark.requirement("chan:addresses-in-settings")
def test_an_address_of_the_owner_is_put_where_its_rank_says(home: Path) -> None:
    added = documents(postroom("people", "edit", "owner", "--address", "telegram:77", "--rank", "1", "--json"))
    places = [(one["address"], one["rank"], bool(one["verified_at"])) for one in added["addresses"]]
    assert places == [("77", 1, False), ("1000", 2, True), ("owner@sandbox.example", 3, True)]

    mail = ("--address", "email:owner@sandbox.example", "--rank", "2")
    moved = documents(postroom("people", "edit", "owner", *mail, "--json"))["addresses"]
    assert [one["address"] for one in moved] == ["77", "owner@sandbox.example", "1000"]
    assert [bool(one["verified_at"]) for one in moved] == [False, True, True]

    alone = postroom("people", "edit", "owner", "--rank", "1")
    assert alone.code == 2 and "--rank: say which one" in alone.error


@pytest.mark.requirement("chan:pairing-doors")
async def test_a_household_elsewhere_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with living(tmp_path, LIFTED, QUICK) as house:
        monkeypatch.setenv("POSTROOM_URL", house.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", house.token("operator"))
        shown = await postroom_beside("pair", "owner", "--channel", "telegram", "--json")

    assert re.fullmatch("[A-Z0-9]{8}", documents(shown)["code"])


BOB = ("people", "add", "Bob Miller", "--address", "telegram:2001", "--address", "email:bob@Example.org")


@pytest.mark.requirement("house:people-commands")
def test_a_person_is_added_shown_edited_and_removed(home: Path) -> None:
    added = documents(postroom(*BOB, "--alias", "Bobby", "--zone", "Europe/Berlin", "--language", "de", "--json"))
    assert [(one["channel"], one["address"], one["rank"]) for one in added["addresses"]] == [
        ("telegram", "2001", 1),
        ("email", "bob@example.org", 2),
    ]
    assert (added["role"], added["trusted"], added["zone"]) == ("contact", False, "Europe/Berlin")

    changed = documents(
        postroom(
            *("people", "edit", "bobby", "--name", "Robert Miller", "--zone", "", "--trusted", "--role", "member"),
            *("--address", "email:rob@example.org", "--remove-address", "telegram:2001", "--alias", "Rob", "--json"),
        )
    )
    assert changed["person_id"] == added["person_id"]
    assert (changed["name"], changed["zone"], changed["language"]) == ("Robert Miller", None, "de")
    assert (changed["role"], changed["trusted"], changed["aliases"]) == ("member", True, ["Bobby", "Rob"])
    assert [one["address"] for one in changed["addresses"]] == ["bob@example.org", "rob@example.org"]
    assert documents(postroom("people", "show", added["person_id"], "--json")) == changed

    kept = postroom("people", "remove", "Rob", typed="n\n")
    assert kept.code == 1 and "Remove Robert Miller?" in kept.error
    assert postroom("people", "remove", "Rob", typed="y\n").out.endswith("Robert Miller was removed.\n")
    gone = postroom("people", "show", "Rob")
    assert gone.code == 1 and "nobody called 'Rob'" in gone.error


def test_people_are_listed_by_name(home: Path) -> None:
    postroom(*BOB, "--trusted")
    postroom("people", "add", "Anna", "--alias", "Annie")

    assert postroom("people", "list").out.splitlines() == [
        "Anna (Annie)  contact  no address",
        "Bob Miller  contact  telegram 2001, email bob@example.org  trusted",
        "Sandbox owner  owner  telegram 1000, email owner@sandbox.example",
    ]
    assert [one["name"] for one in documents(postroom("people", "list", "--json"))][:2] == ["Anna", "Bob Miller"]


def test_one_is_shown_name_first_and_id_last(home: Path) -> None:
    postroom(*BOB, "--alias", "Bobby")

    lines = postroom("people", "show", "Bobby").out.splitlines()

    assert lines[0] == "Bob Miller"
    assert "  telegram     2001  not verified" in lines
    assert lines[-1].startswith("  id           ")


def test_a_name_of_several_people_is_answered_with_all_of_them(home: Path) -> None:
    ids = [
        documents(postroom("people", "add", "Ann", "--address", f"telegram:{n}", "--json"))["person_id"] for n in (7, 8)
    ]

    done = postroom("people", "edit", "ann", "--zone", "UTC")

    assert done.code == 1 and "2 people are called 'ann'" in done.error
    assert all(one in done.error for one in (*ids, "telegram 7", "telegram 8"))
    assert documents(postroom("people", "show", ids[0], "--json"))["zone"] is None


WRONG = {
    "an unknown channel": (("--address", "fax:1"), "--address: must be one of email, telegram"),
    "no address": (("--address", "email:nowhere"), "--address: is no address of email"),
    "no channel": (("--address", "bob@example.org"), "write CHANNEL:ADDRESS"),
    "an unknown zone": (("--zone", "Mars/Olympus"), "--zone: must be an IANA time zone"),
    "no language": (("--language", "en_GB"), "--language: must be a language tag"),
    "a second owner": (("--role", "owner"), "--role"),
    "an unknown role": (("--role", "king"), "--role: must be one of"),
}


MISTYPED = ("no channel", "an unknown role")


def test_what_is_wrong_is_named_as_an_option(home: Path) -> None:
    for what, (options, sentence) in WRONG.items():
        done = postroom("people", "add", "Bob", *options)
        assert done.code == (2 if what in MISTYPED else 1) and sentence in done.error, what

    assert [one["person_id"] for one in documents(postroom("people", "list", "--json"))] == ["owner"]


def test_an_edit_that_names_nothing_or_takes_what_is_not_there_is_refused(home: Path) -> None:
    postroom(*BOB)

    assert "Nothing to change" in postroom("people", "edit", "Bob Miller").error
    assert "has no telegram 9" in postroom("people", "edit", "Bob Miller", "--remove-address", "telegram:9").error
    assert "is not called 'X'" in postroom("people", "edit", "Bob Miller", "--remove-alias", "X").error


def test_words_of_people_never_steer_the_terminal(home: Path) -> None:
    postroom("people", "add", "Eve \x1b[2J", "--alias", "E\u202evil")

    assert "\x1b" not in postroom("people", "list").out + postroom("people", "show", "Eve [2J").out
    assert "\u202e" not in postroom("people", "list").out


async def test_beside_a_running_household_the_owner_and_the_history_are_there(home: Path) -> None:
    async with living(home, QUICK) as household:
        await postroom_beside(*BOB)
        await household.notify(recipient="Bob Miller", message="To\nBob")
        await household.notify(message="To the owner")
        owner = documents(await postroom_beside("people", "show", "owner", "--json"))
        bobs = await postroom_beside("people", "history", "Bob Miller")
        owners = documents(await postroom_beside("people", "history", "OWNER", "--json"))

    assert (owner["person_id"], owner["role"]) == ("owner", "owner")
    assert "telegram  delivered  health: To Bob" in bobs.out and len(bobs.out.splitlines()) == 1
    assert [one["excerpt"] for one in owners] == ["To the owner"]


@pytest.fixture
async def there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Living]:
    """Its home is another one than the command's, which stays empty."""
    async with living(tmp_path / "there", QUICK) as household:
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("operator"))
        yield household


@pytest.mark.requirement("house:people-commands")
async def test_the_same_commands_work_at_a_household_elsewhere(there: Living, home: Path, tmp_path: Path) -> None:
    table = tmp_path / "more.csv"
    table.write_text("name,telegram_chat_id\nMaria,2002\n")

    added = documents(await postroom_beside(*BOB, "--alias", "Bobby", "--json"))
    changed = documents(await postroom_beside("people", "edit", "BOBBY", "--zone", "UTC", "--json"))
    imported = documents(await postroom_beside("people", "import", str(table), "--json"))
    wrong = await postroom_beside("people", "edit", "Bobby", "--zone", "nowhere")
    await there.notify(recipient="Bobby", message="Hello there")
    history = await postroom_beside("people", "history", "Bobby")
    listed = await postroom_beside("people", "list")
    removed = await postroom_beside("people", "remove", added["person_id"], "--yes", "--json")
    unknown = await postroom_beside("people", "show", "Bobby")

    assert changed["zone"] == "UTC" and changed["person_id"] == added["person_id"]
    assert imported["created"] == 1
    assert wrong.code == 1 and "422" in wrong.error and "zone" in wrong.error
    assert "Hello there" in history.out
    assert [line.split("  ")[0] for line in listed.out.splitlines()] == ["Bob Miller (Bobby)", "Maria", "Sandbox owner"]
    assert documents(removed) == {"removed": added["person_id"], "name": "Bob Miller"}
    assert unknown.code == 1
    assert documents(await postroom_beside("people", "show", "owner", "--json"))["role"] == "owner"
    assert list(home.iterdir()) == []


async def test_contacts_are_listed_and_brought_to_a_household_elsewhere_however_many(
    there: Living, home: Path, tmp_path: Path
) -> None:
    cards = tmp_path / "many.vcf"
    cards.write_text("".join(f"BEGIN:VCARD\nFN:Person {n:03} {'x' * 200}\nEND:VCARD\n" for n in range(1_200)))

    first = documents(await postroom_beside("contacts", "import", str(cards), "--json"))
    again = documents(await postroom_beside("contacts", "import", str(cards), "--json"))
    listed = documents(await postroom_beside("contacts", "list", "--json"))

    assert (first["created"], again["created"], len(listed)) == (1_200, 0, 1_200)
    assert listed[0]["name"].startswith("Person 000") and listed[0]["source"] == "import"
    assert list(home.iterdir()) == []


async def test_a_butlers_token_lists_nobody(there: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_TOKEN", there.token("health"))

    done = await postroom_beside("people", "list")

    assert done.code == 1 and "403" in done.error


@pytest.mark.requirement("talk:default-butler")
def test_a_person_gets_a_default_butler_and_loses_it_again(home: Path) -> None:
    def edited(name: str) -> Done:
        return postroom("people", "edit", "owner", "--default-butler", name, "--json")

    assert documents(edited("health"))["default_butler"] == "health"
    assert "  butler       health" in postroom("people", "show", "owner").out.splitlines()
    refused = edited("No such name!")
    assert refused.code != 0 and "--default-butler: must be the name of a butler" in refused.error
    assert documents(edited(""))["default_butler"] is None
