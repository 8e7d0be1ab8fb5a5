"""Two addresses of a contact among the many of a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom.channels.email.building import mailbox
from postroom.channels.telegram.channel import address as telegram
from postroom.kernel.values.errors import Refused
from postroom.people.model import NewPerson, Person, PersonAddress, PersonRole, distinct
from postroom.people.names.resolve import hint_of
from postroom.people.person_rules import further_addresses, new_contact, new_person, rewritten, vouched

PLACES = (
    PersonAddress(channel="telegram", address="2001", rank=1, verified_at_us=5),
    PersonAddress(channel="email", address="bob@x.org", rank=2, label="home"),
    PersonAddress(channel="slack", address="U0123", rank=3, verified_at_us=6),
    PersonAddress(channel="email", address="bob@work.org", rank=4),
)
BOB = Person(
    id="1",
    owner_agent="agent://household/owner",
    name="Bob",
    agent_address="agent://contact/1",
    role=PersonRole.APPROVER,
    zone="Asia/Tokyo",
    language="ja",
    addresses=PLACES,
    source="api",
    created_at_us=1,
    updated_at_us=1,
)


def places(new: NewPerson) -> list[tuple[str, int | None]]:
    return [(one.address, one.verified_at_us) for one in new.addresses]


def test_a_contact_written_anew_keeps_what_a_contact_has_no_words_for() -> None:
    anew = rewritten(BOB, new_contact(name="Robert", telegram_chat_id="2001", email="BOB@x.org", trusted=True))

    assert (anew.name, anew.trusted, anew.role, anew.zone) == ("Robert", True, PersonRole.APPROVER, "Asia/Tokyo")
    assert anew.addresses == PLACES


def test_another_address_takes_the_place_of_the_first_and_is_not_proved() -> None:
    anew = rewritten(BOB, new_contact(name="Bob", telegram_chat_id="2002"))

    assert places(anew) == [("2002", None), ("U0123", 6), ("bob@work.org", None)]


def test_the_operator_vouches_for_what_the_settings_say_of_the_owner() -> None:
    assert [(one.channel, one.address, one.verified_at_us) for one in vouched(" 1000 ", "", 7)] == [
        ("telegram", "1000", 7)
    ]


@pytest.mark.parametrize(
    ("addresses", "hint"),
    [
        (PLACES[:2], "Telegram …01, b…@x.org"),
        (PLACES[2:3], "Slack …23"),
        ((PersonAddress(channel="telegram", address="@bobm"),), "Telegram …bm"),
        ((), "agent://contact/1"),
    ],
)
def test_a_hint_shows_little_of_any_address(addresses: tuple[PersonAddress, ...], hint: str) -> None:
    assert hint_of(replace(BOB, addresses=addresses)) == hint


FORMS = {"slack": lambda text: text.upper() if text.upper().startswith("U") else None}


@pytest.mark.requirement("chan:addresses-in-settings")
def test_further_addresses_follow_the_two_and_each_is_written_once() -> None:
    further = further_addresses(["slack:u123", " slack : U9 "], FORMS)

    assert [(one.channel, one.address, one.rank) for one in further] == [("slack", "U123", 3), ("slack", "U9", 4)]
    assert distinct((*further, *further)) == further
    assert [one.verified_at_us for one in vouched(None, None, 7, further)] == [7, 7]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("U123", "must be CHANNEL:ADDRESS"),
        ("slack:", "must be CHANNEL:ADDRESS"),
        ("pigeon:7", "'pigeon' is none of the channels slack"),
        ("slack:general", "'general' is no address of slack"),
        ("slack:U\x001", "is no address of slack"),
    ],
)
def test_an_address_that_is_none_is_refused_with_its_own_sentence(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        further_addresses([text], FORMS)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        pytest.param("name", {"name": " .!"}, id="no letters"),
        pytest.param("name", {"name": "a\x00b"}, id="NUL"),
        pytest.param("aliases[1]", {"name": "Bob", "aliases": ["ok", ""]}, id="blank alias"),
        pytest.param("aliases", {"name": "Bob", "aliases": ["x"] * 51}, id="too many aliases"),
        pytest.param("agent", {"name": "Bob", "agent": "bob"}, id="no address"),
        pytest.param("agent", {"name": "Bob", "agent": "agent://household/owner"}, id="the owner's address"),
        pytest.param("agent", {"name": "Bob", "agent": "agent://contact/x"}, id="another contact's address"),
        pytest.param("telegram_chat_id", {"name": "Bob", "telegram_chat_id": "0"}, id="no chat"),
        pytest.param("email", {"name": "Bob", "email": "a@b\r\nBcc: c@d"}, id="header in an e-mail address"),
    ],
)
def test_what_is_wrong_is_named(field: str, values: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        new_contact(**values)  # type: ignore[arg-type]

    assert [item.field for item in refused.value.fields] == [field]


def test_a_good_contact_is_tidied() -> None:
    made = new_contact(
        name=" Bob ", aliases=[" Rob "], agent="AGENT://Home/Bob", email=" B@X.org ", telegram_chat_id="@BobM"
    )

    assert (made.name, made.aliases, made.agent_address, made.address_on("email"), made.address_on("telegram")) == (
        "Bob",
        ("Rob",),
        "agent://home/bob",
        "b@x.org",
        "@bobm",
    )


NEW_PERSON_FORMS = {"telegram": telegram, "email": mailbox}
MAIL = PersonAddress(channel="email", address="ada@example.org")
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
    written = before.as_written if before else NewPerson(name="Bob")
    return new_person(replace(written, **fields), NEW_PERSON_FORMS, before)


# What else is refused stands in the table of the API.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no letter": ({"name": "  !"}, "name"),
    "a name that is too long": ({"name": "b" * 256}, "name"),
    "a name that no store keeps": ({"name": "b\0b"}, "name"),
    "an alias without a letter": ({"aliases": ("Bobby", "")}, "aliases.1"),
    "too many aliases": ({"aliases": tuple(f"b{number}" for number in range(51))}, "aliases"),
    "a file for a zone": ({"zone": "../../etc/passwd"}, "zone"),
    "a word for a language": ({"language": "english"}, "language"),
    "an underscore in a language": ({"language": "en_GB"}, "language"),
    "an endless language": ({"language": "en" + "-abcdefgh" * 9}, "language"),
    "an address with NUL": ({"addresses": (PersonAddress(channel="email", address="a\0@b.c"),)}, "addresses.0.address"),
    "an endless label": ({"addresses": (replace(MAIL, label="x" * 65),)}, "addresses.0.label"),
    "too many addresses": ({"addresses": tuple(replace(MAIL, address=f"a{n}@b.c") for n in range(51))}, "addresses"),
    "no agent address": ({"agent_address": "bob"}, "agent"),
    "an agent address of ours": ({"agent_address": "agent://contact/x"}, "agent"),
    "the owner's agent address": ({"agent_address": "agent://household/owner"}, "agent"),
}


@pytest.mark.parametrize(("fields", "wrong"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_by_its_field(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(Refused) as error:
        made(**fields)

    assert [one.field for one in error.value.fields] == [wrong]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(Refused) as error:
        made(
            name="",
            role=PersonRole.OWNER,
            zone="nowhere",
            language="?",
            addresses=(replace(MAIL, channel="fax", rank=99),),
        )

    assert {one.field for one in error.value.fields} == {
        *("name", "role", "zone", "language", "addresses.0.channel", "addresses.0.rank")
    }


@pytest.mark.parametrize("tag", ["en", "pt-BR", "zh-Hant-TW", "es-419", "de-CH-1996", "sl-rozaj-biske", "en-x-mine"])
def test_a_language_has_the_form_of_a_tag(tag: str) -> None:
    assert made(language=tag).language == tag


def test_what_stays_is_kept_with_its_proof_though_its_channel_is_gone() -> None:
    pigeon = PersonAddress(channel="carrier-pigeon", address="loft 3", rank=1)
    person = made(ADA, addresses=(replace(MAIL, address="ADA@EXAMPLE.ORG", rank=2, label="work"), pigeon))

    assert person.addresses == (
        PersonAddress(channel="carrier-pigeon", address="loft 3", rank=1),
        PersonAddress(channel="email", address="ada@example.org", rank=2, verified_at_us=7, label="work"),
    )


def test_a_person_as_written_makes_the_same_person_again() -> None:
    person = made(ADA)

    assert (person.name, person.aliases, person.role, person.trusted) == ("Ada", ("Countess",), "member", True)
    assert (person.zone, person.language, person.addresses) == (ADA.zone, ADA.language, ADA.addresses)
    assert person.agent_address == ADA.agent_address
