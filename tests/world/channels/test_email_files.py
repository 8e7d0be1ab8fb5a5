"""Files in a mail, read by Python's own parser and taken by a real SMTP conversation."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.domain.errors import OutcomeUncertain, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.testing import MailScript, MailServer
from postroom.testing.held_files import HeldFiles
from postroom.world.channels.email import Email

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
    from postroom.world.channels.carried_files import plain_name
    from postroom.world.channels.email_message import with_files

    file = replace(LOG, name=name)
    [part] = channel().prepare(message(attachments=(file,)))
    content = with_files(part, [b"x"]).content
    [one] = message_from_bytes(content, policy=default).iter_attachments()

    assert one.get_filename() == plain_name(file)
    assert all(len(line) <= 998 for line in content.split(b"\r\n"))


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
