from __future__ import annotations

import asyncio
import smtplib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client, letter, send_mail
from tests.sandbox.hand_clock import HandClock

from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.mail import MAX_MAIL_BYTES, read_mail
from postroom.sandbox.records import ReceivedMail


async def test_a_mail_is_kept_with_its_envelope_and_headers(client: Client) -> None:
    await client.mail(
        letter("Grüße", "Hello\n.dot\n..dots", Message_ID="<d1@example.com>", References="<d0@example.com>")
    )

    listed = await client.get("/sandbox/email/messages")

    mail = listed["messages"][0]
    assert (listed["sandbox"], listed["count"]) == (True, 1)
    assert (mail["from"], mail["to"], mail["recipients"]) == ("bot@example.com", "ada@example.com", ["ada@example.com"])
    assert (mail["subject"], mail["body"]) == ("Grüße", "Hello\n.dot\n..dots")
    assert (mail["message_id"], mail["references"], mail["in_reply_to"]) == (
        "<d1@example.com>",
        "<d0@example.com>",
        None,
    )
    assert (mail["headers"]["From"], mail["headers"]["Message-ID"]) == ("bot@example.com", "<d1@example.com>")
    assert mail["received_at"] == "2026-05-28T20:26:40.000000Z"


async def test_the_raw_bytes_can_be_fetched(client: Client) -> None:
    await client.mail(letter())
    number = (await client.mails())[0]["id"]

    async with client.http.get(f"/sandbox/email/messages/{number}/raw") as answer:
        raw = await answer.read()
    async with client.http.get("/sandbox/email/messages/999/raw") as missing:
        assert missing.status == 404

    assert raw.startswith(b"From: bot@example.com\r\n") and raw.endswith(b"How are you?\r\n")


async def test_the_envelope_tells_who_really_gets_the_mail(client: Client) -> None:
    def send() -> None:
        with smtplib.SMTP("127.0.0.1", client.sandbox.smtp_port, local_hostname="c.invalid", timeout=10) as connection:
            connection.sendmail("bot@example.com", ["ada@example.com", "eve@example.com"], letter().as_bytes())

    await asyncio.to_thread(send)

    assert (await client.mails())[0]["to"] == "ada@example.com, eve@example.com"


async def test_the_greeting_says_that_this_is_a_sandbox(client: Client) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", client.sandbox.smtp_port)
    greeting = await asyncio.wait_for(reader.readline(), PATIENCE_SECONDS)
    writer.close()

    assert b"SANDBOX, nothing leaves this machine" in greeting


async def test_any_login_is_welcome_and_none_is_needed(client: Client) -> None:
    await client.mail(letter("with"), login=("bot@example.com", "any password"))
    await client.mail(letter("without"))

    assert [mail["subject"] for mail in await client.mails()] == ["with", "without"]


async def test_a_mail_past_the_limit_is_refused(client: Client) -> None:
    with pytest.raises(smtplib.SMTPException):
        await client.mail(letter(body=("x" * 70 + "\n") * (MAX_MAIL_BYTES // 70)))

    assert await client.mails() == []


async def test_fifty_mails_at_once_are_all_kept(client: Client) -> None:
    port = client.sandbox.smtp_port
    await asyncio.gather(*(asyncio.to_thread(send_mail, port, letter(f"mail {number}")) for number in range(50)))

    mails = await client.mails()
    assert {mail["subject"] for mail in mails} == {f"mail {number}" for number in range(50)}
    assert len({mail["id"] for mail in mails}) == 50


async def test_a_status_fault_answers_the_data_and_keeps_nothing(client: Client) -> None:
    """A status that no SMTP server gives is read as HTTP: out of order for now, or never."""
    codes = {503: 451, 500: 451, 429: 451, 408: 451, 404: 550, 400: 550, 451: 451, 452: 452, 550: 550, 554: 554}
    for status, code in codes.items():
        await client.arm(channel="email", status=status, retry_after=5)

        with pytest.raises(smtplib.SMTPDataError) as caught:
            await client.mail(letter())

        assert caught.value.smtp_code == code, status
        assert b"sandbox fault, retry after 5 seconds" in caught.value.smtp_error
    await client.mail(letter("again"))
    assert [mail["subject"] for mail in await client.mails()] == ["again"]


async def test_the_code_that_says_goodbye_also_hangs_up(client: Client) -> None:
    await client.arm(channel="email", status=421)

    with pytest.raises(smtplib.SMTPDataError) as caught:
        await client.mail(letter())

    assert caught.value.smtp_code == 421
    assert await client.mails() == []


async def test_a_connection_that_was_open_before_is_refused_at_its_next_mail(client: Client) -> None:
    connection = smtplib.SMTP(local_hostname="client.invalid", timeout=10)
    await asyncio.to_thread(connection.connect, "127.0.0.1", client.sandbox.smtp_port)
    await client.arm(channel="email", mode="refuse")

    with pytest.raises(smtplib.SMTPSenderRefused) as caught:
        await asyncio.to_thread(connection.send_message, letter("lost"))

    assert caught.value.smtp_code == 421
    assert await client.mails() == []


async def test_a_hanging_mail_keeps_nothing_and_ends_when_the_client_gives_up(client: Client, clock: HandClock) -> None:
    await client.arm(channel="email", mode="hang")
    _, writer = await asyncio.open_connection("127.0.0.1", client.sandbox.smtp_port)
    for command in (
        "EHLO c.invalid",
        "MAIL FROM:<a@x.example>",
        "RCPT TO:<b@x.example>",
        "DATA",
        "Subject: lost\r\n\r\n.",
    ):
        writer.write(command.encode() + b"\r\n")
    await clock.someone_waits()

    writer.close()

    await clock.nobody_waits()
    assert await client.mails() == []


def read(raw: bytes) -> ReceivedMail:
    ledger = SandboxLedger()
    try:
        return read_mail(raw, ledger.files, sender="bot@example.com", recipients=["ada@example.com"], at_us=0)
    finally:
        ledger.close()


def test_a_mail_is_read_as_a_person_would_see_it():
    raw = letter(
        "Grüße, 你好", "Zeile eins\nZeile 😀", Message_ID="<d1@example.com>", In_Reply_To="<d0@example.com>"
    ).as_bytes()

    mail = read(raw)

    assert (mail.subject, mail.body) == ("Grüße, 你好", "Zeile eins\nZeile 😀")
    assert (mail.message_id, mail.in_reply_to, mail.references) == ("<d1@example.com>", "<d0@example.com>", None)


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
