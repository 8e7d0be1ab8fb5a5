"""Files in a mail, read by Python's own parser and taken by a real SMTP conversation."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.policy import default as default_policy
from email.utils import unquote
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.kernel.text.test_rich import read
from tests.support.markdown_texts import inked, markdown

from postroom.channels.email.building import (
    OutgoingMail,
    as_data,
    build,
    checked,
    domain_of,
    encoded,
    mailbox,
    message_id,
)
from postroom.channels.email.channel import Email
from postroom.channels.email.incoming.imap import ImapAccount
from postroom.kernel.text.markdown import parse
from postroom.kernel.text.rich import readable
from postroom.kernel.values.errors import OutcomeUncertain, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, Priority
from postroom.message.markup import Button, Markup, Revision
from postroom.testing import MailScript, MailServer
from postroom.testing.case import HeldFiles

FILES = HeldFiles()
PDF = FILES.hold('Prüf "bericht".pdf', bytes(range(256)) * 30, "application/pdf")
LOG = FILES.hold("run.log", "größe\n.\n..dot\n".encode(), "text/plain")


def message(**changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "ada@example.org"}
    return Message(**(fields | {"text": "the report"} | changes))


def channel(port: int = 25) -> Email:
    return Email("127.0.0.1", port, "none", None, None, "bot@example.org", files=FILES)


async def received(given_message: Message) -> EmailMessage:
    async with MailServer() as server:
        mail = channel(server.port)
        [part] = mail.prepare(given_message)
        await mail.send(part, 10.0)
    [taken] = server.messages
    return taken.parsed()


def arrived(mail: EmailMessage) -> list[tuple[str | None, str, bytes]]:
    return [
        (one.get_filename(), one.get_content_type(), one.get_payload(decode=True)) for one in mail.iter_attachments()
    ]


@pytest.mark.requirement("content:email-files")
async def test_a_mail_carries_its_files_beside_its_text() -> None:
    mail = await received(message(attachments=(PDF, LOG)))

    assert mail.get_content_type() == "multipart/mixed"
    assert mail.get_body(("plain",)).get_content().rstrip() == "the report"
    assert arrived(mail) == [
        (PDF.name, "application/pdf", bytes(range(256)) * 30),
        ("run.log", "text/plain", "größe\n.\n..dot\n".encode()),
    ]
    assert list(mail.iter_attachments())[1].get_content_charset() == "utf-8"
    assert not mail.defects and not any(part.defects for part in mail.walk())


async def test_markdown_stands_as_two_alternatives_inside() -> None:
    mail = await received(message(text="**the** report", format=Format.MARKDOWN, attachments=(LOG,), repeated=True))

    assert [part.get_content_type() for part in mail.walk()] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "text/html",
        "text/plain",
    ]
    assert REPEAT_MARK in mail.get_body(("plain",)).get_content()


async def test_text_that_is_no_utf8_and_mails_inside_are_bytes() -> None:
    files = (
        FILES.hold("old.txt", b"\xe9t\xe9", "text/plain"),
        FILES.hold("m.eml", b"From: x\r\n\r\nhi", "message/rfc822"),
    )

    mail = await received(message(attachments=files))

    assert [kind for _, kind, _ in arrived(mail)] == ["application/octet-stream"] * 2


async def test_an_empty_file_is_carried() -> None:
    assert arrived(await received(message(attachments=(FILES.hold("empty.txt", b"", "text/plain"),)))) == [
        ("empty.txt", "text/plain", b"")
    ]


@given(st.text(min_size=1, max_size=200))
def test_any_name_is_read_back_and_none_becomes_a_header(name: str) -> None:
    from postroom.channels.email.building import with_files
    from postroom.channels.shared import plain_name

    file = replace(LOG, name=name)
    [part] = channel().prepare(message(attachments=(file,)))
    content = with_files(part, [b"x"]).content
    [one] = message_from_bytes(content, policy=default).iter_attachments()

    # Python's own reader takes brackets and quotes around a whole name away
    assert one.get_filename() in (plain_name(file), unquote(plain_name(file)))
    assert all(len(line) <= 998 for line in content.split(b"\r\n"))


def test_an_encoded_word_in_a_name_stays_the_letters_it_is() -> None:
    """Python's own writer of headers decodes it, line ends and all."""
    from postroom.channels.email.building import with_files

    file = replace(LOG, name="=?utf-8?q?x=0D=0ABcc:_eve@evil.example?=.txt")
    [part] = channel().prepare(message(attachments=(file,)))

    assert b"\nBcc:" not in with_files(part, [b"x"]).content


@pytest.mark.requirement("content:files-same-bytes")
async def test_a_second_try_is_the_same_mail() -> None:
    async with MailServer() as server:
        server.behave(MailScript(reset_at="BODY"), MailScript())
        mail = channel(server.port)
        [part] = mail.prepare(message(attachments=(PDF,)))
        with pytest.raises(OutcomeUncertain):
            await mail.send(part, 10.0)
        await mail.send(part, 10.0)

    first, second = server.messages
    assert first.content == second.content


async def test_a_server_that_says_how_much_it_takes_is_believed_before_anything_is_carried() -> None:
    async with MailServer() as server:
        server.behave(MailScript(replies={"EHLO": b"250-mail.test\r\n250 SIZE 2000"}))
        mail = channel(server.port)
        [part] = mail.prepare(message(attachments=(PDF,)))
        with pytest.raises(ValidationError, match="takes at most 2,000"):
            await mail.send(part, 10.0)

    assert server.taken == 0


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


ID = "0198c0de-0000-7000-8000-000000000001"


def sent(host: str = "127.0.0.1", *, listens: bool = False, tags: bool = False, **changes: Any) -> EmailMessage:
    imap = ImapAccount(host="127.0.0.1", tls="none", user="bot@post.example", reply_tags=tags) if listens else None
    email = Email(host, 25, "none", None, None, "bot@post.example", imap=imap)
    given: dict[str, Any] = {"intent": Intent.SEND, "address": "ada@example.org", "text": "hello"}
    (mail,) = email.prepare(Message(delivery_id=DeliveryId(ID), **(given | changes)))
    return message_from_bytes(mail.content, policy=default_policy)


@pytest.mark.requirement("mail:copies-dropped")
def test_services_that_drop_copies_know_the_delivery_by_its_id() -> None:
    mail = sent()

    assert (mail["Resend-Idempotency-Key"], mail["X-EE-Idempotency-Key"]) == (ID, ID)
    assert Email("smtp.resend.com", 587, "starttls", "resend", "x", "a@b.example").capabilities.dedupes_for_seconds
    assert not Email("smtp.example.org", 587, "starttls", "x", "x", "a@b.example").capabilities.dedupes_for_seconds


@pytest.mark.parametrize(
    ("priority", "importance"), [(Priority.HIGH, "high"), (Priority.MEDIUM, None), (Priority.LOW, "low")]
)
def test_only_what_stands_out_says_how_important_it_is(priority: Priority, importance: str | None) -> None:
    assert sent(priority=priority)["Importance"] == importance


@pytest.mark.requirement("mail:bounce-believed")
def test_a_mail_shows_its_mark_the_same_on_every_attempt_and_a_sender_is_never_told_it() -> None:
    email = Email("127.0.0.1", 25, "none", None, None, "bot@post.example", key=b"household")
    message = Message(delivery_id=DeliveryId(ID), intent=Intent.SEND, address="ada@example.org", text="hello")
    (first,), (again,) = email.prepare(message), email.prepare(replace(message, repeated=True))
    marked = message_from_bytes(first.content, policy=default_policy)["Message-ID"]

    assert marked == message_from_bytes(again.content, policy=default_policy)["Message-ID"]
    assert marked.startswith(f"<{ID}.") and marked.endswith("@post.example>")
    assert marked == message_from_bytes(first.content, policy=default_policy)["X-Postroom-Message"]
    assert first.message_id == f"<{ID}@post.example>"


@pytest.mark.requirement("mail:bounce-believed")
def test_what_follows_up_a_mail_of_ours_stands_in_its_thread() -> None:
    email = Email("127.0.0.1", 25, "none", None, None, "bot@post.example", key=b"household")
    message = Message(delivery_id=DeliveryId(ID), intent=Intent.SEND, address="ada@example.org", text="hello")
    (card,) = email.prepare(message)
    other = DeliveryId(ID[:-1] + "2")
    (closing,) = email.prepare(replace(message, delivery_id=other, intent=Intent.REPLY, thread=card.message_id))
    marked = message_from_bytes(card.content, policy=default_policy)["Message-ID"]

    assert message_from_bytes(closing.content, policy=default_policy)["In-Reply-To"] == marked


def test_no_mail_carries_what_mailing_lists_carry() -> None:
    assert sent(listens=True)["List-Unsubscribe"] is None


@pytest.mark.requirement("mail:reply-tags")
def test_with_tags_every_mail_names_itself_in_the_address_that_is_answered() -> None:
    assert sent(listens=True, tags=True)["Reply-To"] == f"bot+{ID}@post.example"
    assert sent(listens=True)["Reply-To"] is None


BAD_ADDRESSES = [
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


@pytest.mark.parametrize("text", BAD_ADDRESSES)
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
