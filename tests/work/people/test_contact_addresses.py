"""Two addresses of a contact among the many of a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.domain.person import NewPerson, Person, PersonAddress, PersonRole
from postroom.work.people.contact_addresses import further_addresses, rewritten, together, vouched
from postroom.work.people.hint import hint_of
from postroom.work.people.new_contact import new_contact

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
    aliases=(),
    agent_address="agent://contact/1",
    role=PersonRole.APPROVER,
    trusted=False,
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
    assert together(*further, *further) == further
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
