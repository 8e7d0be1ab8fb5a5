from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.agent_address import parse_address, user_address


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
