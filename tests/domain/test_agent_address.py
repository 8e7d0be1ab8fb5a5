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
