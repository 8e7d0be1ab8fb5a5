"""`postroom people`: written down, shown, changed and removed, here and at a household elsewhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.living import QUICK, Living, living
from tests.cli.command import Done, postroom, postroom_beside

BOB = ("people", "add", "Bob Miller", "--address", "telegram:2001", "--address", "email:bob@Example.org")


def documents(done: Done) -> Any:
    assert done.code == 0, done.error
    return json.loads(done.out)


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


@pytest.mark.parametrize(("options", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_as_an_option(home: Path, options: tuple[str, ...], sentence: str) -> None:
    done = postroom("people", "add", "Bob", *options)

    assert done.code == 1 and sentence in done.error
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


def test_a_file_of_people_is_imported_once(home: Path, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("name,telegram_chat_id\nMaria,2002\n,3\n")

    first = documents(postroom("people", "import", str(table), "--json"))
    again = postroom("people", "import", str(table))

    assert (first["created"], first["updated"], [one["card"] for one in first["skipped"]]) == (1, 0, [3])
    assert again.out.splitlines()[0] == "0 new, 0 added to, 1 left out."


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
