from __future__ import annotations

import asyncio

import pytest
from tests.contract.connection import Listener
from tests.contract.mail_server import MailServer, Script

from postroom.domain.errors import (
    DeliveryTimeout,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.channels.email_message import OutgoingMail
from postroom.world.channels.smtp_visit import Server, SmtpVisit, Stage, read_loss, read_refusal

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
        client_name="[127.0.0.1]",
    )


@pytest.mark.parametrize(
    ("stage", "code", "expected"),
    [
        (Stage.SESSION, 554, TargetUnavailable),
        (Stage.SESSION, 535, TargetUnavailable),
        (Stage.SESSION, 421, TargetUnavailable),
        (Stage.ENVELOPE, 550, ValidationError),
        (Stage.ENVELOPE, 530, TargetUnavailable),
        (Stage.ENVELOPE, 450, TargetUnavailable),
        (Stage.ENVELOPE, 421, TargetUnavailable),
        (Stage.ENVELOPE, 250, TargetUnavailable),
        (Stage.ENVELOPE, -1, TargetUnavailable),
        (Stage.BODY, 554, ValidationError),
        (Stage.BODY, 451, TargetUnavailable),
        (Stage.BODY, 354, OutcomeUncertain),
        (Stage.BODY, -1, OutcomeUncertain),
        (Stage.BODY, 999, OutcomeUncertain),
    ],
)
def test_a_code_means_what_it_means_at_that_stage(stage: Stage, code: int, expected: type[PostroomError]) -> None:
    assert type(read_refusal(stage, code, "words")) is expected


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
