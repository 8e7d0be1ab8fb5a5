"""One visit to a mail server that knows whether the message was handed over."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import cast

from aiosmtplib import SMTP, SMTPException, SMTPResponseException, SMTPServerDisconnected

from postroom.domain.errors import (
    DeliveryTimeout,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.channels.email_message import OutgoingMail, as_data
from postroom.world.channels.mail_oauth.access import MailAccess, xoauth2
from postroom.world.channels.mail_security import Security
from postroom.world.channels.provider_words import provider_words
from postroom.world.http.descriptors import out_of_descriptors

AUTHENTICATION_CODES = frozenset({530, 534, 535, 538})
_START_INPUT = 354
_COMPLETED = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    host: str
    port: int
    security: Security
    username: str | None
    password: str | None = field(repr=False)
    tls_context: ssl.SSLContext | None = field(repr=False)
    client_name: str
    access: MailAccess | None = field(default=None, repr=False)
    """Set: tokens of it are shown instead of a password."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password in every form in which it travels."""
        if not self.password:
            return ()
        plain = f"\0{self.username or ''}\0{self.password}"
        return (self.password, *(base64.b64encode(text.encode()).decode() for text in (self.password, plain)))


class Stage(IntEnum):
    """How far a visit came; from BODY on, the server may have the message."""

    SESSION = 1
    ENVELOPE = 2
    BODY = 3


def read_refusal(stage: Stage, code: int, words: str) -> PostroomError:
    """Before the envelope a refusal concerns us and not the message."""
    said = f"the mail server answered {code}" + (f": {words}" if words else "")
    if code in AUTHENTICATION_CODES:
        return TargetUnavailable(f"the mail server does not accept our login ({code})")
    if 500 <= code < 600 and stage > Stage.SESSION:
        return ValidationError(said)
    if 400 <= code < 600:
        return TargetUnavailable(said)
    return read_loss(stage)


async def visit(server: Server, mail: OutgoingMail | None, timeout_seconds: float) -> None:
    """With a token that the server refuses, once more with a new one: nothing of the mail had left."""
    if server.access is None:
        await SmtpVisit(server).make(mail, timeout_seconds)
        return
    began = asyncio.get_running_loop().time()
    token = await server.access.token()
    first = SmtpVisit(server, token)
    try:
        await first.make(mail, timeout_seconds)
        return
    except TargetUnavailable:
        if not first.login_refused:
            raise
    left = timeout_seconds - (asyncio.get_running_loop().time() - began)
    await SmtpVisit(server, await server.access.token(refused=token)).make(mail, max(left, 1.0))


def _always(token: str) -> Callable[[], Awaitable[str]]:
    async def generate() -> str:
        return token

    return generate


def _token_in_base64(server: Server, token: str) -> str:
    return base64.b64encode(xoauth2(server.username or "", token)).decode()


def read_loss(stage: Stage, *, late: bool = False) -> PostroomError:
    if stage is Stage.BODY:
        return OutcomeUncertain("the mail server received the message but no valid answer came back")
    if late:
        return DeliveryTimeout("the mail server did not take the message before the deadline")
    return TargetUnavailable("the mail server could not be reached or would not talk to us")


class SmtpVisit:
    """
    Connect, log in, hand over one mail (or none, to see whether the login works), leave.

    Errors are raised outside of the handlers that caught the library's own:
    those may quote what was sent.
    """

    def __init__(self, server: Server, token: str | None = None) -> None:
        self._stage = Stage.SESSION
        self._secrets = server.secrets if token is None else (token, _token_in_base64(server, token))
        self.login_refused = False
        self._smtp = SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password if token is None else None,
            oauth_token_generator=None if token is None else _always(token),
            local_hostname=server.client_name,
            timeout=None,
            use_tls=server.security == "tls",
            start_tls=server.security == "starttls",
            tls_context=server.tls_context,
        )

    async def make(self, mail: OutgoingMail | None, timeout_seconds: float) -> None:
        failure: PostroomError | None = None
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._smtp.connect()
                await self._talk(mail)
            self._say_goodbye()
        except TimeoutError:
            failure = read_loss(self._stage, late=True)
        except ValidationError as error:
            failure = error
        except SMTPResponseException as error:
            private = mail.private if mail else ()
            words = provider_words(error.message, secrets=self._secrets, private=private)
            failure = read_refusal(self._stage, error.code, words).told_by(error.code, words or "refused")
            self.login_refused = self._stage is Stage.SESSION and error.code in AUTHENTICATION_CODES
        except (SMTPException, OSError, UnicodeError) as error:
            ours = out_of_descriptors(error) if self._stage is Stage.SESSION else None
            failure = ours or read_loss(self._stage)
        finally:
            self._hang_up()
        if failure:
            raise failure

    async def _talk(self, mail: OutgoingMail | None) -> None:
        if mail is None:
            await self._smtp.noop()
            return
        self._stage = Stage.ENVELOPE
        await self._smtp.mail(mail.sender)
        self._check_size(len(mail.content))
        await self._smtp.rcpt(mail.recipient)
        await self._hand_over(as_data(mail.content))

    def _check_size(self, size: int) -> None:
        """A server may say how much it takes; then nothing has to be carried there to be refused."""
        most = self._smtp.esmtp_extensions.get("size", "").strip()
        if most.isascii() and most.isdecimal() and 0 < int(most) < size:
            raise ValidationError(f"the mail has {size:,} bytes, and the mail server takes at most {int(most):,}")

    async def _hand_over(self, data: bytes) -> None:
        """DATA in two steps, because only we can tell the moment between them."""
        ready = await self._smtp.execute_command(b"DATA")
        if ready.code != _START_INPUT:
            raise SMTPResponseException(ready.code, ready.message)
        protocol = self._smtp.protocol
        if protocol is None or not protocol.is_connected:
            raise SMTPServerDisconnected("connection lost")
        self._stage = Stage.BODY
        protocol.write(data)
        answer = await protocol.read_response()
        if answer.code != _COMPLETED:
            raise SMTPResponseException(answer.code, answer.message)

    def _say_goodbye(self) -> None:
        """Without waiting for the reply: the mail is delivered, nothing may delay saying so."""
        protocol = self._smtp.protocol
        if protocol is not None and protocol.is_connected:
            protocol.write(b"QUIT\r\n")
        self._smtp.close()

    def _hang_up(self) -> None:
        """Drops what is still unwritten, so that nothing goes out after we have reported."""
        if self._smtp.transport is not None:
            cast(asyncio.WriteTransport, self._smtp.transport).abort()
        self._smtp.close()
