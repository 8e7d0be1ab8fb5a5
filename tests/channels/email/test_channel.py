from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.channels.email.test_building import BAD_ADDRESSES, INJECTIONS
from tests.contract.certificates import self_signed
from tests.contract.connection import Listener
from tests.contract.mail_server import MailServer, Script

from postroom.channels.email.building import OutgoingMail
from postroom.channels.email.channel import Email, Server, SmtpVisit, Stage, read_loss
from postroom.channels.email.kind import Tls
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message, Receipt

PASSWORD = "canary-password"
HEADERS = [
    "From",
    "To",
    "Subject",
    "Auto-Submitted",
    "Date",
    "Message-ID",
    "MIME-Version",
    "Resend-Idempotency-Key",
    "X-EE-Idempotency-Key",
    "Content-Type",
    "Content-Transfer-Encoding",
]


def channel(port: int, security: Tls = "none", **changes: Any) -> Email:
    return Email("127.0.0.1", port, security, "bot", PASSWORD, "bot@post.example", **changes)


def message(**changes: Any) -> Message:
    given_fields: dict[str, Any] = {
        "delivery_id": DeliveryId("d1"),
        "intent": Intent.SEND,
        "address": "ada@example.org",
        "text": "hello",
    }
    return Message(**(given_fields | changes))


async def deliver(server: MailServer, wanted: Message) -> bool:
    email = channel(server.port)
    try:
        (part,) = email.prepare(wanted)
    except ValidationError:
        return False
    await email.send(part, 10.0)
    return True


async def test_the_server_gets_one_mail_for_one_mailbox() -> None:
    async with MailServer() as server:
        email = channel(server.port)
        receipt = await email.send(email.prepare(message(text="Grüße\n.\nEnde"))[0], 5.0)

    (received,) = server.received
    assert receipt == Receipt("<d1@post.example>")
    assert (received.sender, received.recipients) == ("<bot@post.example>", ["<ada@example.org>"])
    assert received.header_names() == HEADERS
    assert received.parsed().get_content() == "Grüße\r\n.\r\nEnde\r\n"
    assert server.commands[:5] == ["EHLO", "AUTH", "MAIL", "RCPT", "DATA"]


async def test_the_butler_that_wrote_it_stands_in_a_header() -> None:
    async with MailServer() as server:
        await deliver(server, message(origin_butler="health"))

    (received,) = server.received
    assert received.parsed()["X-Postroom-Butler"] == "health"
    assert received.parsed().get_content() == "hello\r\n"


async def test_what_may_have_come_before_says_so_at_its_end_under_the_same_message_id() -> None:
    async with MailServer() as server:
        await deliver(server, message())
        await deliver(server, message(repeated=True))

    first, again = (received.parsed() for received in server.received)
    assert again.get_content() == "hello\r\n\r\n(possibly repeated)\r\n"
    assert again["Message-ID"] == first["Message-ID"]


@pytest.mark.parametrize("field", ["subject", "address", "thread", "origin_butler"])
async def test_no_known_injection_reaches_the_server(field: str) -> None:
    async with MailServer() as server:
        for value in [*INJECTIONS, *BAD_ADDRESSES[5:]]:
            await deliver(server, message(**{field: value, "intent": Intent.REPLY}))

    for received in server.received:
        assert received.recipients == ["<ada@example.org>"]
        assert set(received.header_names()) <= {*HEADERS, "In-Reply-To", "References", "X-Postroom-Butler"}
    assert field in ("subject", "origin_butler") or not [mail for mail in server.received if b"evil" in mail.content]
    assert not server.violations


PIECES = [
    "\r\n",
    "\n",
    "\r",
    "Bcc: eve@evil.example",
    "=?utf-8?q?",
    "=0D=0A",
    "?=",
    ",",
    "<",
    ">",
    "@",
    "é",
    "😀",
    " ",
    "a",
]
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(hostile, hostile, hostile), min_size=40, max_size=40))
def test_no_generated_subject_or_address_adds_a_header_or_a_recipient(tries: list[tuple[str, str, str]]) -> None:
    async def run() -> None:
        async with MailServer() as server:
            for subject, address, thread in tries:
                await deliver(server, message(subject=subject, text=subject or "x"))
                await deliver(server, message(address=f"ada@example.org{address}"))
                await deliver(server, message(intent=Intent.REPLY, thread=thread))
        for received in server.received:
            assert len(received.recipients) == 1
            assert received.recipients[0].startswith("<ada@example.org")
            assert set(received.header_names()) <= {*HEADERS, "In-Reply-To", "References"}
            assert len(received.parsed().get_all("to", [])) == 1
        assert not server.violations

    asyncio.run(run())


SMUGGLING = [
    "\n.\n",
    "\r.\r",
    "\r\n.\r\n",
    "\n.\r\n",
    "\r\n.\n",
    "\r\n.\r",
    "\r.\r\n",
    ".\r\n",
    "\n..\n",
    "\x00.\r\n",
    "\r\n\x00.\r\n",
]
SECOND = "MAIL FROM:<eve@evil.example>\r\nRCPT TO:<ada@example.org>\r\nDATA\r\nSubject: smuggled\r\n\r\nhi\r\n.\r\n"


@pytest.mark.parametrize("before", ["hello", "grüße"], ids=["plain", "encoded"])
async def test_no_line_end_trick_smuggles_a_second_mail(before: str) -> None:
    async with MailServer() as server:
        sent = [await deliver(server, message(text=before + end + SECOND)) for end in SMUGGLING]

    assert len(server.received) == sum(sent) == len([end for end in SMUGGLING if "\x00" not in end])
    assert server.commands.count("MAIL") == len(server.received)
    assert not server.violations


class Inbox:
    """Collects what aiosmtpd accepts."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    async def handle_DATA(self, server: SMTP, session: object, envelope: Envelope) -> str:
        self.envelopes.append(envelope)
        return "250 OK"


def authenticate(server: object, session: object, envelope: object, mechanism: str, data: object) -> AuthResult:
    known = isinstance(data, LoginPassword) and (data.login, data.password) == (b"bot", PASSWORD.encode())
    return AuthResult(success=known, handled=False)


@contextlib.asynccontextmanager
async def mail_server(context: ssl.SSLContext, security: Tls, inbox: Inbox) -> AsyncIterator[int]:
    loop = asyncio.get_running_loop()
    starttls = context if security == "starttls" else None
    server = await loop.create_server(
        lambda: SMTP(
            inbox,
            loop=loop,
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=authenticate,
            auth_required=True,
            auth_require_tls=starttls is not None,
        ),
        "127.0.0.1",
        0,
        ssl=context if security == "tls" else None,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.mark.filterwarnings("ignore:Requiring AUTH")  # the whole connection is TLS, which aiosmtpd cannot see
@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_mail_goes_out_over_an_encrypted_connection(security: Tls, tmp_path: Path) -> None:
    server_context, client_context = self_signed(tmp_path)
    inbox = Inbox()
    async with mail_server(server_context, security, inbox) as port:
        email = channel(port, security, tls_context=client_context)
        assert await email.probe(10.0) == "bot at 127.0.0.1"
        assert inbox.envelopes == []
        await email.send(email.prepare(message(text="Grüße\n.\nEnde"))[0], 10.0)

    (envelope,) = inbox.envelopes
    assert envelope.rcpt_tos == ["ada@example.org"]


@pytest.mark.filterwarnings("ignore:Requiring AUTH")  # the whole connection is TLS, which aiosmtpd cannot see
@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_certificate_nobody_vouches_for_gets_neither_password_nor_mail(security: Tls, tmp_path: Path) -> None:
    server_context, _ = self_signed(tmp_path)
    inbox = Inbox()
    async with mail_server(server_context, security, inbox) as port:
        email = channel(port, security)
        with pytest.raises(TargetUnavailable):
            await email.send(email.prepare(message())[0], 10.0)

    assert inbox.envelopes == []


async def test_a_server_that_hides_starttls_gets_neither_password_nor_mail() -> None:
    async with MailServer() as server:
        email = channel(server.port, "starttls")
        with pytest.raises(TargetUnavailable):
            await email.send(email.prepare(message())[0], 5.0)

    assert server.commands == ["EHLO"]


async def test_a_failed_probe_says_so_without_the_password() -> None:
    async with MailServer() as server:
        server.behave(Script(replies={"AUTH": f"535 {PASSWORD} is wrong".encode()}))
        with pytest.raises(TargetUnavailable) as caught:
            await channel(server.port).probe(5.0)

    assert PASSWORD not in repr(caught.value)


async def test_without_a_login_none_is_tried() -> None:
    async with MailServer() as server:
        email = Email("127.0.0.1", server.port, "none", None, None, "bot@post.example")
        await email.send(email.prepare(message())[0], 5.0)

    assert "AUTH" not in server.commands


def test_a_password_never_travels_in_clear_to_another_machine() -> None:
    with pytest.raises(ValueError, match="tls"):
        Email("mail.example.org", 25, "none", "bot", PASSWORD, "bot@post.example")


@pytest.mark.parametrize("sender", ["", "Bot <bot@post.example>", "bot"])
def test_the_sender_must_be_one_mailbox(sender: str) -> None:
    with pytest.raises(ValueError, match="from_address"):
        Email("127.0.0.1", 25, "none", None, None, sender)


def test_nothing_shown_holds_the_password() -> None:
    email = channel(25)

    assert PASSWORD not in repr(email) + repr(vars(email))


MAIL = OutgoingMail(
    sender="bot@post.example",
    recipient="ada@example.org",
    message_id="<d1@post.example>",
    content=b"Subject: x\r\n\r\n.dot\r\n",
    private=(),
)


def server(port: int) -> Server:
    return Server(
        host="127.0.0.1",
        port=port,
        security="none",
        username="bot",
        password="canary",
        tls_context=None,
    )


@pytest.mark.parametrize(
    ("stage", "late", "expected"),
    [
        (Stage.SESSION, False, TargetUnavailable),
        (Stage.SESSION, True, DeliveryTimeout),
        (Stage.ENVELOPE, True, DeliveryTimeout),
        (Stage.BODY, False, OutcomeUncertain),
        (Stage.BODY, True, OutcomeUncertain),
    ],
)
def test_a_lost_connection_is_uncertain_only_once_the_body_left(
    stage: Stage, late: bool, expected: type[PostroomError]
) -> None:
    assert type(read_loss(stage, late=late)) is expected


def test_the_password_is_known_in_every_form_it_travels_in() -> None:
    assert server(1).secrets == ("canary", "Y2FuYXJ5", "AGJvdABjYW5hcnk=")
    assert "canary" not in repr(server(1))


async def test_a_leading_dot_survives_the_journey() -> None:
    async with MailServer() as provider:
        await SmtpVisit(server(provider.port)).make(MAIL, 5.0)

    assert provider.received[0].content == MAIL.content


async def test_a_mail_that_was_accepted_is_not_delayed_by_a_server_that_will_not_say_goodbye() -> None:
    async with MailServer() as provider:
        provider.behave(Script(hang_at="QUIT"))
        await SmtpVisit(server(provider.port)).make(MAIL, 5.0)

    assert provider.taken == 1


async def test_a_visit_without_a_mail_sends_none() -> None:
    async with MailServer() as provider:
        await SmtpVisit(server(provider.port)).make(None, 5.0)

    assert provider.commands[:3] == ["EHLO", "AUTH", "NOOP"]
    assert "MAIL" not in provider.commands


class Chatterbox(Listener):
    """Greets without ever ending its line."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"220-" + b"x" * 1000)
            await writer.drain()


async def test_an_endless_greeting_is_given_up() -> None:
    async with Chatterbox() as provider:
        with pytest.raises(TargetUnavailable):
            await SmtpVisit(server(provider.port)).make(MAIL, 10.0)
