"""Where an address stands once it is proved, or comes first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.kernel.values.errors import Refused
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.people.model import (
    MAX_ADDRESSES,
    Person,
    PersonAddress,
    PersonRole,
    has_proved,
    inbox_of,
    recipient,
    with_first,
    with_proof,
)

PLACES = (
    PersonAddress(channel="email", address="anna@x.org", rank=1, verified_at_us=3),
    PersonAddress(channel="telegram", address="2000", rank=2, label="old"),
    PersonAddress(channel="slack", address="U1", rank=4),
)
ANNA = Person(
    id="1",
    owner_agent="agent://household/owner",
    name="Anna",
    agent_address="agent://contact/1",
    role=PersonRole.MEMBER,
    addresses=PLACES,
    source="api",
    created_at_us=1,
    updated_at_us=1,
)


def places(addresses: tuple[PersonAddress, ...]) -> list[tuple[str, str, int, int | None]]:
    return [(one.channel, one.address, one.rank, one.verified_at_us) for one in addresses]


def test_an_address_that_is_known_is_proved_and_stays_where_it_was() -> None:
    assert places(with_proof(ANNA, "slack", "u1", 9).addresses) == [*places(PLACES[:2]), ("slack", "U1", 4, 9)]


def test_a_new_address_stands_before_the_unproved_ones_of_its_channel() -> None:
    assert places(with_proof(ANNA, "telegram", "3000", 9).addresses) == [
        ("email", "anna@x.org", 1, 3),
        ("telegram", "3000", 2, 9),
        ("telegram", "2000", 3, None),
        ("slack", "U1", 4, None),
    ]


def test_a_new_address_on_a_new_channel_comes_last() -> None:
    assert places(with_proof(ANNA, "discord", "user:5", 9).addresses)[-1] == ("discord", "user:5", 4, 9)


def test_there_is_an_end_to_addresses() -> None:
    many = tuple(PersonAddress(channel="telegram", address=str(n), rank=1) for n in range(MAX_ADDRESSES))

    with pytest.raises(Refused, match="at most"):
        with_proof(replace(ANNA, addresses=many), "slack", "U9", 9)


def test_the_chosen_address_comes_first_and_the_others_keep_their_order() -> None:
    assert places(with_first(ANNA, "slack", "U1").addresses) == [
        ("slack", "U1", 1, None),
        ("email", "anna@x.org", 2, 3),
        ("telegram", "2000", 3, None),
    ]


def test_only_a_verified_address_is_proved() -> None:
    assert has_proved(ANNA, "email", " ANNA@x.org ")
    assert not has_proved(ANNA, "telegram", "2000")
    assert not has_proved(ANNA, "slack", "anna@x.org")


# Nobody looks into an inbox that is not their own.

ADA = Principal(Role.USER, "ada")
CI = Principal(Role.PROGRAM, "ci", person="ada")


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        pytest.param(ADA, "ada", id="a person"),
        pytest.param(OPERATOR, "operator", id="the operator"),
        pytest.param(Principal(Role.USER, "operator"), None, id="a person called like the operator"),
        pytest.param(Principal(Role.PERSON, "ada"), "ada", id="a person's token"),
        pytest.param(Principal(Role.PERSON, "owner"), "operator", id="the owner"),
        pytest.param(Principal(Role.PERSON, "operator"), None, id="a person's token called like the operator"),
        pytest.param(CI, "ada", id="a program"),
        pytest.param(Principal(Role.PROGRAM, "ci", person="owner"), "operator", id="a program of the owner's"),
        pytest.param(Principal(Role.PROGRAM, "ci"), None, id="a program of no person's"),
        pytest.param(Principal(Role.BUTLER, "ada"), None, id="a butler"),
        pytest.param(Principal(Role.CONNECTOR, "ada"), None, id="a connector"),
    ],
)
def test_whose_inbox_a_caller_has(caller: Principal, expected: str | None) -> None:
    assert inbox_of(caller) == expected


@pytest.mark.parametrize(
    ("caller", "named", "expected"),
    [
        pytest.param(ADA, None, "ada", id="for oneself"),
        pytest.param(ADA, "ada", "ada", id="for oneself, by name"),
        pytest.param(ADA, "bob", None, id="for somebody else"),
        pytest.param(CI, None, "ada", id="a program for its person"),
        pytest.param(CI, "ada", "ada", id="a program for its person, by name"),
        pytest.param(CI, "bob", None, id="a program for somebody else"),
        pytest.param(CI, "ci", None, id="a program for itself"),
        pytest.param(Principal(Role.PROGRAM, "ci", person="owner"), "owner", "operator", id="a program for the owner"),
        pytest.param(OPERATOR, "bob", "bob", id="the operator for anybody"),
        pytest.param(OPERATOR, None, "operator", id="the operator"),
        pytest.param(Principal(Role.BUTLER, "health"), "bob", None, id="a butler"),
    ],
)
def test_for_whom_a_caller_may_leave_a_note(caller: Principal, named: str | None, expected: str | None) -> None:
    assert recipient(caller, named) == expected
