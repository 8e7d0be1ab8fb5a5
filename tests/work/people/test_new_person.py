"""What a person's fields may hold, whichever door they came through."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom.domain.errors import Refused
from postroom.domain.person import NewPerson, Person, PersonAddress, PersonRole
from postroom.domain.person_draft import DraftAddress, PersonDraft, draft_of
from postroom.work.people.new_person import new_person
from postroom.world.channels.mailbox import mailbox
from postroom.world.channels.telegram import address as telegram

FORMS = {"telegram": telegram, "email": mailbox}
MAIL = DraftAddress(channel="email", address="ada@example.org")
ADA = Person(
    id="ada",
    owner_agent="agent://household/owner",
    name="Ada",
    aliases=("Countess",),
    agent_address="agent://contact/ada",
    role=PersonRole.MEMBER,
    trusted=True,
    zone="Europe/London",
    language="en-GB",
    addresses=(
        PersonAddress(channel="email", address="ada@example.org", rank=1, verified_at_us=7, label="home"),
        PersonAddress(channel="carrier-pigeon", address="loft 3", rank=2),
    ),
    source="api",
    created_at_us=1,
    updated_at_us=1,
)
OWNER = replace(ADA, id="owner", role=PersonRole.OWNER, agent_address="agent://household/owner")


def made(before: Person | None = None, **fields: Any) -> NewPerson:
    draft = draft_of(before) if before else PersonDraft(name="Bob")
    return new_person(replace(draft, **fields), FORMS, before)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no letter": ({"name": "  !"}, "name"),
    "a name that is too long": ({"name": "b" * 256}, "name"),
    "a name that no store keeps": ({"name": "b\0b"}, "name"),
    "an alias without a letter": ({"aliases": ("Bobby", "")}, "aliases.1"),
    "too many aliases": ({"aliases": tuple(f"b{number}" for number in range(51))}, "aliases"),
    "an unknown role": ({"role": "king"}, "role"),
    "a second owner": ({"role": "owner"}, "role"),
    "an unknown zone": ({"zone": "Mars/Olympus"}, "zone"),
    "a file for a zone": ({"zone": "../../etc/passwd"}, "zone"),
    "a word for a language": ({"language": "english"}, "language"),
    "an underscore in a language": ({"language": "en_GB"}, "language"),
    "an endless language": ({"language": "en" + "-abcdefgh" * 9}, "language"),
    "an unknown channel": ({"addresses": (MAIL, DraftAddress(channel="fax", address="1"))}, "addresses.1.channel"),
    "no address": ({"addresses": (DraftAddress(channel="email", address="ada"),)}, "addresses.0.address"),
    "an address with NUL": ({"addresses": (DraftAddress(channel="email", address="a\0@b.c"),)}, "addresses.0.address"),
    "rank 0": ({"addresses": (replace(MAIL, rank=0),)}, "addresses.0.rank"),
    "rank 51": ({"addresses": (replace(MAIL, rank=51),)}, "addresses.0.rank"),
    "an endless label": ({"addresses": (replace(MAIL, label="x" * 65),)}, "addresses.0.label"),
    "twice": ({"addresses": (MAIL, replace(MAIL, address="ADA@Example.org"))}, "addresses.1.address"),
    "too many addresses": ({"addresses": tuple(replace(MAIL, address=f"a{n}@b.c") for n in range(51))}, "addresses"),
    "no agent address": ({"agent": "bob"}, "agent"),
    "an agent address of ours": ({"agent": "agent://contact/x"}, "agent"),
    "the owner's agent address": ({"agent": "agent://household/owner"}, "agent"),
}


@pytest.mark.parametrize(("fields", "wrong"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_by_its_field(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(Refused) as error:
        made(**fields)

    assert [one.field for one in error.value.fields] == [wrong]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(Refused) as error:
        made(name="", role="king", zone="nowhere", language="?", addresses=(replace(MAIL, channel="fax", rank=99),))

    assert {one.field for one in error.value.fields} == {
        *("name", "role", "zone", "language", "addresses.0.channel", "addresses.0.rank")
    }


def test_an_address_is_kept_as_its_channel_writes_it_in_the_order_of_ranks() -> None:
    later = DraftAddress(channel="email", address=" Bob@EXAMPLE.org ", rank=9)
    person = made(addresses=(later, DraftAddress(channel="telegram", address="@BobMiller", rank=1, label=" phone ")))

    assert person.addresses == (
        PersonAddress(channel="telegram", address="@bobmiller", rank=1, label="phone"),
        PersonAddress(channel="email", address="Bob@example.org", rank=9),
    )


def test_without_ranks_addresses_are_tried_in_the_order_they_are_written() -> None:
    person = made(addresses=(MAIL, DraftAddress(channel="telegram", address="7")))

    assert [(one.channel, one.rank) for one in person.addresses] == [("email", 1), ("telegram", 2)]


@pytest.mark.parametrize("tag", ["en", "pt-BR", "zh-Hant-TW", "es-419", "de-CH-1996", "sl-rozaj-biske", "en-x-mine"])
def test_a_language_has_the_form_of_a_tag(tag: str) -> None:
    assert made(language=tag).language == tag


def test_what_stays_is_kept_with_its_proof_though_its_channel_is_gone() -> None:
    pigeon = DraftAddress(channel="carrier-pigeon", address="loft 3", rank=1)
    person = made(ADA, addresses=(replace(MAIL, address="ADA@EXAMPLE.ORG", rank=2, label="work"), pigeon))

    assert person.addresses == (
        PersonAddress(channel="carrier-pigeon", address="loft 3", rank=1),
        PersonAddress(channel="email", address="ada@example.org", rank=2, verified_at_us=7, label="work"),
    )


def test_another_address_has_nothing_proved_of_it() -> None:
    assert made(ADA, addresses=(replace(MAIL, address="ada@example.com"),)).addresses[0].verified_at_us is None


def test_a_draft_of_a_person_makes_the_same_person_again() -> None:
    person = made(ADA)

    assert (person.name, person.aliases, person.role, person.trusted) == ("Ada", ("Countess",), "member", True)
    assert (person.zone, person.language, person.addresses) == (ADA.zone, ADA.language, ADA.addresses)
    assert person.agent_address is None


def test_an_empty_zone_and_language_take_them_away() -> None:
    person = made(ADA, zone="", language=None)

    assert (person.zone, person.language) == (None, None)


def test_the_owner_stays_the_owner() -> None:
    assert made(OWNER, name="Ada Lovelace").role is PersonRole.OWNER
    with pytest.raises(Refused) as error:
        made(OWNER, role="member")
    assert [one.field for one in error.value.fields] == ["role"]
