from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sandbox.client import letter

from postroom.sandbox.mail import read_mail


def read(raw: bytes):
    return read_mail(raw, sender="bot@example.com", recipients=["ada@example.com"])


def test_a_mail_is_read_as_a_person_would_see_it():
    raw = letter(
        "Grüße, 你好", "Zeile eins\nZeile 😀", Message_ID="<d1@example.com>", In_Reply_To="<d0@example.com>"
    ).as_bytes()

    mail = read(raw)

    assert (mail.subject, mail.body) == ("Grüße, 你好", "Zeile eins\nZeile 😀")
    assert (mail.message_id, mail.in_reply_to, mail.references) == ("<d1@example.com>", "<d0@example.com>", None)
    assert mail.raw == raw


def test_a_folded_header_is_one_line():
    assert read(b"Subject: one\r\n two\r\n\r\nx\r\n").subject == "one two"


def test_a_header_that_occurs_twice_shows_both_values():
    assert read(b"X-A: 1\r\nX-A: 2\r\n\r\nx").headers["X-A"] == "1\n2"


def test_the_plain_part_of_a_mail_with_parts_is_its_body():
    message = letter(body="plain")
    message.add_alternative("<p>rich</p>", subtype="html")

    assert read(message.as_bytes()).body == "plain"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe\r\n\r\n\xff", id="no-text"),
        pytest.param(b"Subject: =?utf-8?b?%%%?=\r\n\r\nx", id="broken-word"),
        pytest.param(b"Subject: =?no-such-charset?q?x?=\r\n\r\nx", id="unknown-charset"),
        pytest.param(b"Content-Type: text/plain; charset=nonsense\r\n\r\nx", id="unknown-body-charset"),
        pytest.param(b"Content-Type: multipart/mixed\r\n\r\nx", id="parts-without-boundary"),
    ],
)
def test_a_broken_mail_can_still_be_read(raw):
    mail = read(raw)

    (mail.subject + mail.body + "".join(mail.headers.values())).encode()


@given(st.binary(max_size=300))
def test_any_bytes_at_all_give_text_that_json_can_carry(raw):
    mail = read(b"Subject: " + raw)

    (mail.subject + mail.body + "".join([*mail.headers, *mail.headers.values()])).encode()
    assert mail.raw == b"Subject: " + raw
