"""`postroom pair`: a code or a link, here and at a household elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.app.living import LIFTED, QUICK, living
from tests.cli.command import postroom, postroom_beside


def document(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.requirement("chan:pairing-code", "chan:pairing-doors")
def test_a_code_is_shown_with_when_it_ends_and_three_are_open_at_most(home: Path) -> None:
    shown = postroom("pair", "owner", "--channel", "telegram")
    assert shown.code == 0, shown.error
    code, how, until = shown.out.splitlines()
    assert re.fullmatch("[A-Z0-9]{8}", code)
    assert "to the bot on telegram" in how and re.search(r"ends in \d+ minutes\.$", until)

    told = document(postroom("pair", "owner", "--channel", "telegram", "--json").out)
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
    added = postroom("people", "edit", "owner", "--address", "telegram:77", "--rank", "1", "--json")
    assert added.code == 0, added.error
    places = [(one["address"], one["rank"], bool(one["verified_at"])) for one in document(added.out)["addresses"]]
    assert places == [("77", 1, False), ("1000", 2, True), ("owner@sandbox.example", 3, True)]

    moved = postroom("people", "edit", "owner", "--address", "email:owner@sandbox.example", "--rank", "2", "--json")
    assert [one["address"] for one in document(moved.out)["addresses"]] == ["77", "owner@sandbox.example", "1000"]
    assert [bool(one["verified_at"]) for one in document(moved.out)["addresses"]] == [False, True, True]

    alone = postroom("people", "edit", "owner", "--rank", "1")
    assert alone.code == 1 and "--rank: say which one" in alone.error


@pytest.mark.requirement("chan:pairing-doors")
async def test_a_household_elsewhere_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with living(tmp_path, LIFTED, QUICK) as house:
        monkeypatch.setenv("POSTROOM_URL", house.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", house.token("operator"))
        shown = await postroom_beside("pair", "owner", "--channel", "telegram", "--json")

    assert re.fullmatch("[A-Z0-9]{8}", document(shown.out)["code"]), shown.error
