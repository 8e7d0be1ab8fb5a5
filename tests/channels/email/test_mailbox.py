from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.channels.email.building import domain_of, mailbox

BAD = [
    "",
    "ada",
    "@example.org",
    "ada@",
    "ada@@example.org",
    "ada@example.org, eve@evil.example",
    "ada@example.org;eve@evil.example",
    "ada@example.org eve@evil.example",
    "Ada <ada@example.org>",
    "<ada@example.org>",
    "ada@example.org>",
    "ada@example.org\r\nBcc: eve@evil.example",
    "ada@example.org\n",
    "\tada@example.org",
    "ada@example.org\x00",
    "ada\u2028@example.org",
    '"ada lovelace"@example.org',
    "ada(comment)@example.org",
    "ada@[127.0.0.1]",
    "ada@127.0.0.1",
    "ada@-example.org",
    "ada@example-.org",
    "ada@example..org",
    "ada@.org",
    "ada@example.org.",
    ".ada@example.org",
    "ada.@example.org",
    "a..da@example.org",
    "ädä@example.org",
    "ada@exämple.org",
    "ada@example。org",
    "ada@еxample.org",
    "=?utf-8?q?ada=0D=0ABcc:_eve?=@example.org",
    "=?utf-8?q?ada=40evil=2Eexample?=@example.org",
    "a" * 65 + "@example.org",
    "ada@" + "a" * 64 + ".org",
    "ada@" + ".".join(["a" * 60] * 5),
]


@pytest.mark.parametrize("text", BAD)
def test_anything_but_one_plain_address_is_refused(text: str) -> None:
    assert mailbox(text) is None


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Ada.Lovelace+home@Example.ORG", "Ada.Lovelace+home@example.org"),
        (" ada@example.org ", "ada@example.org"),
        ("ada@localhost", "ada@localhost"),
        ("o'brien@xn--exmple-cua.org", "o'brien@xn--exmple-cua.org"),
    ],
)
def test_only_the_domain_loses_its_case(text: str, canonical: str) -> None:
    assert mailbox(text) == canonical


@given(st.text() | st.emails() | st.from_regex(r".{0,9}@.{0,9}"))
def test_an_accepted_address_is_ascii_without_anything_to_abuse(text: str) -> None:
    accepted = mailbox(text)

    assert accepted is None or (
        accepted.isascii()
        and accepted.isprintable()
        and accepted.count("@") == 1
        and not set(accepted) & set(' ,;:<>()[]"\\')
        and mailbox(accepted) == accepted
    )


def test_the_domain_is_what_follows_the_sign() -> None:
    assert domain_of("ada@example.org") == "example.org"
