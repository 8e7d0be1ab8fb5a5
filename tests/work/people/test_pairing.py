"""Codes: what they look like, how they are found in a message, and what is kept of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.capabilities import Capabilities
from postroom.work.people.pairing import ALPHABET, Codes, codes_in, proves_senders

CODES = Codes(key=b"k" * 32)


@given(st.text())
def test_a_code_is_eight_characters_that_cannot_be_mistaken(seed: str) -> None:
    code = CODES.code(seed.encode("utf-8", "replace").decode())

    assert re.fullmatch("[A-Z0-9]{8}", code) and set(code) <= set(ALPHABET)
    assert not set("O0I1") & set(code)
    assert codes_in(f"my code is {code}, thanks") == [code]


def test_what_is_kept_depends_on_the_household_and_tells_nothing() -> None:
    other = Codes(key=b"o" * 32)

    assert CODES.digest("ABCD2345") != other.digest("ABCD2345")
    assert "ABCD2345" not in CODES.digest("ABCD2345") and "k" * 8 not in repr(CODES)
    assert len({CODES.code(str(n)) for n in range(200)}) == 200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ABCD2345", ["ABCD2345"]),
        ("  abcd2345\n", ["ABCD2345"]),
        ("/start ABCD2345", ["ABCD2345"]),
        ("/start@our_bot abcd2345", ["ABCD2345"]),
        ("Hello! It is ABCD2345.", ["ABCD2345"]),
        ("(ABCD2345) or **WXYZ6789**", ["ABCD2345", "WXYZ6789"]),
        ("my question is whether this shipment", []),
        ("ABCD23456", []),
        ("xABCD2345", []),
        ("ABCD234", []),
        ("ÄABCD2345", []),
        ("ＡＢＣＤ２３４５", []),
        ("", []),
    ],
)
def test_codes_are_found_where_people_put_them(text: str, found: list[str]) -> None:
    assert codes_in(text) == found


def test_of_many_guesses_in_one_message_only_the_first_are_looked_at() -> None:
    assert len(codes_in(" ".join(f"ABCD{n:04}" for n in range(1000)))) == 10


@pytest.mark.parametrize(
    ("can", "proves"),
    [
        (Capabilities(inbound=True), True),
        (Capabilities(), False),
        (Capabilities(inbound=True, style="letter"), False),
    ],
)
def test_only_a_chat_that_is_heard_proves_its_senders(can: Capabilities, proves: bool) -> None:
    assert proves_senders(can) is proves
