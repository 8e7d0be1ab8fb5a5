from __future__ import annotations

from email import message_from_bytes
from email.policy import default as default_policy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from postroom.domain.errors import ValidationError
from postroom.world.channels.mail_header import checked, encoded, message_id

INJECTIONS = [
    "x\r\nBcc: eve@evil.example",
    "x\nBcc: eve@evil.example",
    "x\rBcc: eve@evil.example",
    "x\x0bBcc: eve@evil.example",
    "x\x0cBcc: eve@evil.example",
    "x\x1cBcc: eve@evil.example",
    "x\x85Bcc: eve@evil.example",
    "x\u2028Bcc: eve@evil.example",
    "x\u2029Bcc: eve@evil.example",
    "x\x00",
    "x\x7f",
    "x\ud83d",
    "=?utf-8?q?x=0D=0ABcc:_eve@evil.example?=",
    "=?UTF-8?Q?x=0ABcc:_eve?=",
    "=?utf-8?b?eA0KQmNjOiBldmU=?=",
    "=?utf-8*en?q?x=0D=0ABcc:_eve?=",
    "hello =?iso-8859-1?q?=0A?= there",
]


@pytest.mark.parametrize("value", INJECTIONS)
def test_a_value_that_could_grow_a_header_is_refused(value: str) -> None:
    with pytest.raises(ValidationError) as caught:
        checked("subject", value)

    assert "evil" not in str(caught.value)


@given(st.text(min_size=1, max_size=300))
def test_what_is_encoded_reads_the_same_and_stays_within_the_line(text: str) -> None:
    try:
        value = checked("subject", text).strip()
    except ValidationError:
        assume(False)
    assume(value)
    raw = f"Subject: {encoded(value)}\r\n\r\n".encode("ascii")

    assert all(len(line) <= 78 for line in raw.split(b"\r\n"))
    assert raw.count(b"\r\n") == raw.count(b"\n") == raw.count(b"\r")
    assert message_from_bytes(raw, policy=default_policy)["subject"] == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<abc.1@mail.example.org>", "<abc.1@mail.example.org>"),
        ("abc.1@mail.example.org", "<abc.1@mail.example.org>"),
        ("<abc@[127.0.0.1]>", "<abc@[127.0.0.1]>"),
        ("18c2f0a", None),
        ("<a@b> <c@d>", None),
        ("<a@b>,<c@d>", None),
        ("<<a@b>", None),
        ("<ä@b>", None),
        ("<" + "a" * 500 + "@b>", None),
    ],
)
def test_only_a_message_id_is_taken_for_one(text: str, expected: str | None) -> None:
    assert message_id("thread", text) == expected


@pytest.mark.parametrize("value", INJECTIONS)
def test_a_thread_that_could_grow_a_header_is_refused(value: str) -> None:
    with pytest.raises(ValidationError):
        message_id("thread", value)
