"""What `postroom doctor` says of people: overruled ones, and addresses that lead nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.app.people import opened_people
from postroom.cli.doctor_checks.credentials import look_at_owner
from postroom.cli.doctor_checks.people import look_at_people, look_at_proofs, owner_channels
from postroom.domain.person_draft import DraftAddress, PersonDraft
from postroom.system.settings import Settings

BOB = {"name": "Bob Miller", "telegram_chat_id": "2001", "email": "bob@example.org"}
MAIL_ONLY = {"email": {"address": "butler@example.org", "password": "canary"}}


def settings(home: Path, **values: Any) -> Settings:
    return Settings.model_validate({"home": home, **values})


async def test_a_home_without_a_database_says_nothing_and_stays_untouched(home: Path) -> None:
    assert await look_at_people(settings(home, contacts=[BOB])) == []
    assert list(home.iterdir()) == []


@pytest.mark.requirement("house:people-of-the-file-overruled")
async def test_a_person_changed_in_the_database_is_named_with_the_fields(home: Path) -> None:
    household = settings(home, contacts=[BOB, {"name": "Maria"}])
    async with opened_people(household) as people:
        before = await look_at_people(household)
        (bob,) = await people.called("Bob Miller")
        mail = DraftAddress(channel="email", address="bob@example.org")
        await people.change(bob.id, addresses=(mail,), trusted=True)

    (finding,) = await look_at_people(household)

    assert before == []
    assert finding.ok and finding.subject == "people" and finding.advice
    assert "Bob Miller (trusted, telegram)" in finding.detail and "Maria" not in finding.detail


async def test_addresses_on_a_channel_that_is_not_set_up_are_worth_knowing(home: Path) -> None:
    async with opened_people(settings(home)) as people:
        for number in range(12):
            chat = DraftAddress(channel="telegram", address=str(7000 + number))
            await people.create(PersonDraft(name=f"Chatty {number:02}", addresses=(chat,)), source="test")

    (finding,) = [one for one in await look_at_people(settings(home, **MAIL_ONLY)) if "not set up" in one.detail]

    assert finding.ok
    assert "Chatty 00 (on telegram)" in finding.detail and finding.detail.endswith("and others")
    assert "Chatty 11" not in finding.detail


async def test_the_owner_is_known_where_the_database_says_so(home: Path) -> None:
    slack = {"channels": {"slack-work": {"kind": "slack", "bot_token": "xoxb-canary"}}, "sandbox": False}
    assert await owner_channels(settings(home, **slack)) == []
    async with opened_people(settings(home, **slack)) as people:
        place = DraftAddress(channel="slack-work", address="U01")
        await people.change("owner", addresses=(place,))

    known_on = await owner_channels(settings(home, **slack))
    (finding,) = look_at_owner(settings(home, **slack), known_on)

    assert known_on == ["slack-work"]
    assert (finding.ok, finding.detail) == (True, "is reached by slack-work")


async def test_a_database_that_cannot_be_read_is_another_findings_business(home: Path) -> None:
    (home / "postroom.db").write_text("no database")

    assert await look_at_people(settings(home)) == []


@pytest.mark.requirement("chan:pairing-doctor")
async def test_those_who_have_proved_no_address_are_named_with_the_way_to_pair(home: Path) -> None:
    household = settings(home, contacts=[BOB], owner={"name": "Olivia", "telegram_chat_id": "1"}, **MAIL_ONLY)
    assert await look_at_proofs(household) == []
    async with opened_people(household) as people:
        await people.create(PersonDraft(name="Zoe", role="member"), source="test")

    (finding,) = await look_at_proofs(household)

    assert finding.ok and finding.subject == "people"
    assert finding.detail.endswith(": Zoe, Bob Miller")  # who could decide comes before a contact
    assert "postroom pair NAME --channel" in finding.advice
