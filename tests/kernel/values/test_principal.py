from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import OPERATOR, Agency, Principal, Role, parse_address, user_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("agent://alice", "agent://alice"),
        (" AGENT://Home/Alice ", "agent://home/alice"),
        ("agent://org/team/a.b-c", "agent://org/team/a.b-c"),
        ("agent://a/b/c/d", None),
        ("agent://", None),
        ("agent://-a", None),
        ("agent://a/../b", None),
        ("alice", None),
        ("agent://al ice", None),
    ],
)
def test_an_address_has_one_to_three_names(text: str, address: str | None) -> None:
    assert parse_address(text) == address


@given(st.text(max_size=100))
def test_every_user_has_an_address(user_id: str) -> None:
    assert parse_address(user_address(user_id)) == user_address(user_id)


ALIKE = ["ada", "Ada", " ada", "ada.", "ада", "иван", "ada@x.org", "ada-x.org", "a" * 63, "a" * 64, "a" * 65, "", "-"]


def test_users_whose_ids_are_alike_have_addresses_of_their_own() -> None:
    addresses = [user_address(one) for one in ALIKE]

    assert len(set(addresses)) == len(ALIKE)
    assert all(parse_address(one) == one for one in addresses)


@pytest.mark.parametrize("user_id", ["ada", "ada.lovelace", "u-17", "a" * 63])
def test_an_id_that_can_stand_in_an_address_stands_in_it_as_it_is(user_id: str) -> None:
    assert user_address(user_id) == f"agent://user/{user_id}"


@pytest.mark.parametrize(
    ("caller", "is_person", "is_owner"),
    [
        (OPERATOR, True, True),
        (Principal(Role.PERSON, "owner"), True, True),
        (Principal(Role.PERSON, "ann"), True, False),
        (Principal(Role.USER, "owner"), True, False),
        (Principal(Role.PROGRAM, "owner", person="owner"), False, False),
        (Principal(Role.BUTLER, "owner"), False, False),
        (Principal(Role.CONNECTOR, "owner"), False, False),
    ],
    ids=str,
)
def test_only_tokens_made_for_people_are_people(caller: Principal, is_person: bool, is_owner: bool) -> None:
    assert (caller.is_person, caller.is_owner) == (is_person, is_owner)


AGENCY = Agency(lambda name: ("agent://household/owner", "agent://household/second") if name == "chatgpt" else ())
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")


@pytest.mark.parametrize(
    ("principal", "claimed", "sender"),
    [
        (CHATGPT, None, "agent://household/owner"),
        (CHATGPT, "AGENT://household/second", "agent://household/second"),
        (Principal(Role.BUTLER, "health"), None, "agent://butler/health"),
        (Principal(Role.USER, "Ann A."), None, "agent://user/ann-a-9cf446c81c1b2a03"),
        (Principal(Role.PERSON, "ann"), None, "agent://user/ann"),
        (Principal(Role.PERSON, "owner"), None, "agent://household/owner"),
        (OPERATOR, None, "agent://household/owner"),
        (OPERATOR, "agent://anybody/at-all", "agent://anybody/at-all"),
    ],
)
def test_the_sender_comes_from_the_token(principal: Principal, claimed: str | None, sender: str) -> None:
    assert AGENCY.sender(principal, claimed) == sender


@pytest.mark.parametrize(
    ("principal", "claimed", "code"),
    [
        (CHATGPT, "agent://household/eve", Code.POLICY_DENIED),
        (Principal(Role.CONNECTOR, "unknown"), None, Code.POLICY_DENIED),
        (Principal(Role.BUTLER, "health"), "agent://butler/general", Code.POLICY_DENIED),
        (Principal(Role.PROGRAM, "ci", person="ann"), None, Code.POLICY_DENIED),
        (Principal(Role.PROGRAM, "ci", person="ann"), "agent://user/ann", Code.POLICY_DENIED),
        (Principal(Role.USER, "owner"), "agent://household/owner", Code.POLICY_DENIED),
        (CHATGPT, "owner", Code.INVALID_AGENT_ADDRESS),
    ],
)
def test_nobody_speaks_for_somebody_else(principal: Principal, claimed: str | None, code: Code) -> None:
    with pytest.raises(Refused) as refused:
        AGENCY.sender(principal, claimed)

    assert refused.value.code is code


@pytest.mark.parametrize(
    ("principal", "agent", "name"),
    [
        (CHATGPT, "agent://household/owner", "connector:chatgpt"),
        (CHATGPT, "agent://contact/bob", "connector:chatgpt"),
        (CHATGPT, "agent://own/program", "agent://own/program"),
        (Principal(Role.BUTLER, "health"), "agent://butler/health", "agent://butler/health"),
        (Principal(Role.USER, "ann"), "agent://user/ann", "agent://user/ann"),
        (OPERATOR, "agent://user/ann", "agent://household/owner"),
    ],
)
def test_a_program_never_acts_under_the_name_of_a_person(principal: Principal, agent: str, name: str) -> None:
    assert AGENCY.name(principal, agent) == name
