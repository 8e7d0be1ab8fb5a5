"""`postroom audit`, and the acts of commands it lists; `postroom login --as` for those who have no token."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.living import QUICK, Living, living
from tests.cli.command import Done, postroom, postroom_beside


def documents(done: Done) -> Any:
    assert done.code == 0, done.error
    return json.loads(done.out)


@pytest.mark.requirement("side:audit")
def test_what_commands_did_is_listed_newest_first(home: Path) -> None:
    ann = documents(postroom("people", "add", "Ann", "--role", "member", "--alias", "annie", "--json"))["person_id"]
    assert postroom("token", "create", "--person", ann, "--label", "laptop").code == 0
    link = documents(postroom("login", "--as", "annie", "--json"))
    assert postroom("token", "revoke", "--person", ann).code == 0
    assert postroom("login", "--as", "Ann", "--end").code == 0

    found = documents(postroom("audit", "--json"))

    assert link["principal"] == f"person:{ann}"
    assert [(one["act"], one["subject"]) for one in found] == [
        ("signed out everywhere", f"person:{ann}"),
        ("revoked a token", f"person:{ann}"),
        ("invited to sign in", f"person:{ann}"),
        ("made a token", f"person:{ann}"),
        ("added a person", f"person:{ann}"),
    ]
    assert {(one["actor"], one["door"]) for one in found} == {("operator", "command")}
    assert len(documents(postroom("audit", "--kind", "people", "--limit", "1", "--json"))) == 1
    assert "operator added a person: Ann\n" in postroom("audit").out
    assert documents(postroom("audit", "--person", ann, "--json")) == []


def test_a_contact_an_unknown_one_and_a_wrong_kind_are_refused_in_a_sentence(home: Path) -> None:
    assert postroom("people", "add", "Carl").code == 0

    contact, nobody, kind = (
        postroom("login", "--as", "Carl"),
        postroom("login", "--as", "Dora"),
        postroom("audit", "--kind", "peeple"),
    )

    assert contact.code == 1 and "people edit Carl --role member" in contact.error
    assert nobody.code == 1 and "people add Dora --role member" in nobody.error
    assert kind.code == 1 and "did you mean 'people'?" in kind.error


@pytest.fixture
async def there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Living]:
    """Its home is another one than the command's, which stays empty."""
    async with living(tmp_path / "there", QUICK) as household:
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("operator"))
        yield household


async def test_a_household_elsewhere_is_asked_over_the_api(there: Living) -> None:
    done = await postroom_beside("people", "add", "Eve", "--role", "member")
    assert done.code == 0, done.error

    listed = documents(await postroom_beside("audit", "--json"))
    shown = await postroom_beside("audit")

    assert "added a person: Eve\n" in shown.out
    assert ("added a person", "api") in {(one["act"], one["door"]) for one in listed}
