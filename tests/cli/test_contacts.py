"""`postroom contacts import`: a file becomes contacts, once."""

from __future__ import annotations

import json
from pathlib import Path

from tests.app.living import QUICK, living
from tests.cli.command import postroom, postroom_beside

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
