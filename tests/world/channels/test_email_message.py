from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as default_policy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.markdown_texts import inked, markdown
from tests.domain.test_html_text import read

from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markdown import parse
from postroom.domain.markup import Button, Markup, Revision
from postroom.domain.readable_text import readable
from postroom.world.channels.email_message import OutgoingMail, as_data, build

MARKDOWN = Format.MARKDOWN
NOW = datetime(2026, 3, 1, 13, 0, 0, tzinfo=timezone(timedelta(hours=1)))


def mail(**changes: Any) -> OutgoingMail:
    given_fields: dict[str, Any] = {
        "delivery_id": DeliveryId("0198c0de-0000-7000-8000-000000000001"),
        "intent": Intent.SEND,
        "address": "ada@Example.org",
        "text": "hello",
    }
    return build(Message(**(given_fields | changes)), sender="bot@post.example", now=NOW)


def parsed(**changes: Any) -> EmailMessage:
    return message_from_bytes(mail(**changes).content, policy=default_policy)


def test_a_message_is_plain_and_complete() -> None:
    assert mail().content == (
        b"From: bot@post.example\r\n"
        b"To: ada@example.org\r\n"
        b"Subject: Notification\r\n"
        b"Auto-Submitted: auto-generated\r\n"
        b"Date: Sun, 01 Mar 2026 12:00:00 +0000\r\n"
        b"Message-ID: <0198c0de-0000-7000-8000-000000000001@post.example>\r\n"
        b"MIME-Version: 1.0\r\n"
        b'Content-Type: text/plain; charset="utf-8"\r\n'
        b"Content-Transfer-Encoding: 7bit\r\n"
        b"\r\n"
        b"hello\r\n"
    )


def test_the_message_id_is_the_same_whenever_it_is_built() -> None:
    later = build(
        Message(delivery_id=DeliveryId("d1"), intent=Intent.SEND, address="ada@example.org", text="other"),
        sender="bot@post.example",
        now=datetime(2027, 1, 1, tzinfo=UTC),
    )

    assert later.message_id == mail(delivery_id=DeliveryId("d1")).message_id == "<d1@post.example>"


@pytest.mark.parametrize(
    ("intent", "subject", "expected"),
    [
        (Intent.SEND, None, "Notification"),
        (Intent.SEND, "  ", "Notification"),
        (Intent.SEND, "Tea", "Tea"),
        (Intent.REPLY, "Tea", "Re: Tea"),
        (Intent.REPLY, "RE: Tea", "RE: Tea"),
        (Intent.REPLY, "re:Tea", "re:Tea"),
        (Intent.REPLY, "Recipe", "Re: Recipe"),
        (Intent.REPLY, None, "Re: Notification"),
        (Intent.SEND, "Grüße 👨‍👩‍👧 " * 20, ("Grüße 👨‍👩‍👧 " * 20).strip()),
    ],
)
def test_subjects(intent: Intent, subject: str | None, expected: str) -> None:
    assert parsed(intent=intent, subject=subject)["subject"] == expected


def test_a_reply_joins_its_thread() -> None:
    answer = parsed(intent=Intent.REPLY, thread="<origin@mail.example>")

    assert (answer["in-reply-to"], answer["references"]) == ("<origin@mail.example>", "<origin@mail.example>")
    assert answer["auto-submitted"] == "auto-replied"


@pytest.mark.parametrize("thread", [None, "", "18c2f0a77"])
def test_a_thread_that_is_no_message_id_leaves_no_header(thread: str | None) -> None:
    answer = parsed(intent=Intent.REPLY, thread=thread)

    assert answer["in-reply-to"] is answer["references"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"intent": Intent.REACT, "emoji": "👍"},
        {"subject": "x\r\nBcc: eve@evil.example"},
        {"subject": "=?utf-8?q?x=0D=0ABcc:_eve@evil.example?="},
        {"intent": Intent.REPLY, "thread": "<a@b>\r\nBcc: eve@evil.example"},
        {"address": "ada@example.org, eve@evil.example"},
        {"delivery_id": DeliveryId("d1>\r\nBcc: eve")},
        {"delivery_id": DeliveryId("d 1")},
    ],
    ids=["reaction", "subject", "encoded word", "thread", "two recipients", "id with a line break", "id with a space"],
)
def test_what_cannot_be_one_clean_mail_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        mail(**changes)


@given(st.text(min_size=1, max_size=400).filter(str.strip).filter(lambda text: "\x00" not in text))
def test_the_text_arrives_with_only_its_line_ends_unified(text: str) -> None:
    expected = re.sub(r"\r\n|\r|\n", "\n", text)
    arrived = parsed(text=text).get_content().replace("\r\n", "\n")

    assert arrived == expected + ("" if expected.endswith("\n") else "\n")


@given(st.text(min_size=1, max_size=400).filter(str.strip).filter(lambda text: "\x00" not in text))
def test_the_bytes_are_ascii_lines_of_legal_length(text: str) -> None:
    content = mail(text=text, subject="Grüße").content
    lines = content.split(b"\r\n")

    assert content.isascii()
    assert lines[-1] == b""
    assert all(len(line) <= 998 and b"\r" not in line and b"\n" not in line for line in lines)


def test_an_over_long_line_is_encoded() -> None:
    message = parsed(text="x" * 5000)

    assert message["content-transfer-encoding"] == "base64"
    assert message.get_content().strip() == "x" * 5000


@pytest.mark.parametrize("text", [".", "..", "a\n.\nb", "a\n.\n", ".leading\n..two"])
def test_no_line_of_the_message_can_be_the_closing_dot(text: str) -> None:
    data = as_data(mail(text=text).content)

    assert data.endswith(b"\r\n.\r\n")
    assert data.count(b"\r\n.\r\n") == 1


OPEN = Button(label="Ship\nit", url="https://home.example/a/abc?x=1")
CARD = Markup(buttons=((OPEN, Button(label="Später", url="http://127.0.0.1:40200/a/def")), (OPEN,)))


@pytest.mark.requirement("house:email-links")
def test_buttons_are_lines_with_links_and_no_program_answers_them() -> None:
    read = parsed(text="Ship it?\n", markup=CARD, repeated=True)

    assert read.get_content().replace("\r\n", "\n") == (
        "Ship it?\n\nShip it: https://home.example/a/abc?x=1\nSpäter: http://127.0.0.1:40200/a/def\n\n"
        "Ship it: https://home.example/a/abc?x=1\n\n(possibly repeated)\n"
    )
    assert read["X-Auto-Response-Suppress"] == "All"
    assert read["Auto-Submitted"] == "auto-generated"
    assert read["Reply-To"] is None


def test_an_answer_goes_where_the_question_says() -> None:
    assert parsed(markup=Markup(reply_to="bot+q7@Post.example"))["Reply-To"] == "bot+q7@post.example"


@pytest.mark.parametrize("reply_to", ["", "a@b.example, c@d.example", "a@b.example\r\nBcc: c@d.example"])
def test_a_place_for_answers_is_one_mailbox(reply_to: str) -> None:
    with pytest.raises(ValidationError, match="reply_to"):
        mail(markup=Markup(reply_to=reply_to))


@pytest.mark.parametrize(
    "button",
    [
        Button(label="Yes", token="q1:abc"),
        Button(label=" ", url="https://home.example"),
        Button(label="a\x00b", url="https://home.example"),
        Button(label="Yes", url="javascript:alert(1)"),
        Button(label="Yes", url="https://home.example/a b"),
        Button(label="Yes", url="https://home.example/\nBcc: x"),
        Button(label="Yes", url="https://"),
        Button(label="Yes", url="http://[::1"),
    ],
    ids=["token", "blank", "nul", "script", "space", "line", "no host", "broken"],
)
def test_what_is_no_link_is_refused_before_any_call(button: Button) -> None:
    with pytest.raises(ValidationError, match="button"):
        mail(markup=Markup(buttons=((button,),)))


@pytest.mark.requirement("house:email-links")
def test_a_mail_cannot_be_edited() -> None:
    with pytest.raises(ValidationError, match="e-mail cannot be edited"):
        mail(revises=Revision(delivery_id=DeliveryId("d"), provider_ids=("<a@b>",)))


def test_links_are_private() -> None:
    built = mail(markup=CARD)

    assert "https://home.example/a/abc?x=1" in built.private
    assert "home.example" not in repr(built)


@pytest.mark.requirement("content:email-html")
def test_markdown_is_text_first_and_then_html_that_loads_nothing() -> None:
    letter = parsed(
        text="# Hi\n\n**b** [l](https://a.example) ![i](https://a.example/i.png) <img src=x>", format=MARKDOWN
    )

    text, page = letter.iter_parts()
    assert letter.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in (text, page)] == ["text/plain", "text/html"]
    assert "b l (https://a.example) i (https://a.example/i.png) <img src=x>" in text.get_content()
    assert '<strong>b</strong> <a href="https://a.example"' in page.get_content()
    assert "&lt;img src=x&gt;" in page.get_content()
    assert "<img" not in page.get_content()


@pytest.mark.requirement("content:nothing-lost")
@settings(deadline=None)  # a machine may be busy
@given(markdown.filter(str.strip), st.booleans())
def test_both_halves_of_a_mail_say_the_same(source: str, repeated: bool) -> None:
    letter = parsed(text=source, format=MARKDOWN, repeated=repeated)

    text, page = letter.iter_parts()
    mark = REPEAT_MARK if repeated else ""
    assert inked(text.get_content()) == inked(readable(parse(source)) + mark)
    body = page.get_content().partition("<body>")[2].partition("</body>")[0]
    assert inked(read(body).text) == inked(parse(source).text + mark)
    assert not letter.defects
    assert all(len(line) <= 998 for line in mail(text=source, format=MARKDOWN).content.split(b"\r\n"))
