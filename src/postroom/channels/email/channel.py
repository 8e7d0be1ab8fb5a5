"""E-mail over SMTP, with its files in the same mail: one visit to the server for each message."""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final, cast

from aiosmtplib import SMTP, SMTPException, SMTPResponseException, SMTPServerDisconnected

from postroom.channels.email.building import (
    OutgoingMail,
    as_data,
    build,
    mailbox,
    service_headers,
    with_files,
)
from postroom.channels.email.incoming.imap import ImapAccount
from postroom.channels.email.incoming.listening import MailListening, MailReading
from postroom.channels.email.incoming.reading import OwnMessages
from postroom.channels.email.kind import EMAIL, EmailAccount, EmailSettings, Tls
from postroom.channels.email.oauth import MailAccess, grant_file, mail_provider, xoauth2
from postroom.channels.shared import check_files, read_file
from postroom.kernel.http.answers import provider_words
from postroom.kernel.http.call import out_of_descriptors
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.fields import is_loopback
from postroom.kernel.values.ids import is_uuid, moment_of
from postroom.message.attachment import FileContents
from postroom.message.delivery import Message, Receipt, folded
from postroom.message.inbound import InboundFile, InboundMessage
from postroom.message.markup import Markup
from postroom.settings.accounts import Surroundings

# One visit to a mail server that knows whether the message was handed over.

_AUTHENTICATION_CODES = frozenset({530, 534, 535, 538})
_START_INPUT = 354
_COMPLETED = 250
_CLIENT_NAME: Final = "[127.0.0.1]"  # to a server we are a program, and no machine of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    host: str
    port: int
    security: Tls
    username: str | None
    password: str | None = field(repr=False)
    tls_context: ssl.SSLContext | None = field(repr=False)
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
    if code in _AUTHENTICATION_CODES:
        return TargetUnavailable(f"the mail server does not accept our login ({code})")
    if 500 <= code < 600 and stage > Stage.SESSION:
        return ValidationError(said)
    if 400 <= code < 600:
        return TargetUnavailable(said)
    return read_loss(stage)


async def _visit(server: Server, mail: OutgoingMail | None, timeout_seconds: float) -> None:
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
        self._secrets = server.secrets
        if token is not None:
            self._secrets = (token, base64.b64encode(xoauth2(server.username or "", token)).decode())
        self.login_refused = False
        self._smtp = SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password if token is None else None,
            oauth_token_generator=None if token is None else _always(token),
            local_hostname=_CLIENT_NAME,
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
            self.login_refused = self._stage is Stage.SESSION and error.code in _AUTHENTICATION_CODES
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


# The channel.

_SAME_DATE: Final = timedelta(hours=1)
_DROPS_COPIES: Final = {"smtp.resend.com": 23 * 3600.0}
"""Servers that know a second copy by its idempotency key, and for how long; Resend says 24 hours."""


class Email:
    """
    With `imap` it also listens; replies are answers where our own server proves who sent them.

    `key` is the household's: by it we know a report of a mail that we have sent. Without one none is believed.
    """

    address = staticmethod(mailbox)

    def __init__(
        self,
        host: str,
        port: int,
        security: Tls,
        username: str | None,
        password: str | None,
        from_address: str,
        *,
        name: str = "email",
        imap: ImapAccount | None = None,
        access: MailAccess | None = None,
        key: bytes | None = None,
        tls_context: ssl.SSLContext | None = None,
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        sender = mailbox(from_address)
        if sender is None:
            raise ValueError("from_address must be a single e-mail address")
        if username and security == "none" and not is_loopback(host):
            raise ValueError("a login needs starttls or tls unless the mail server is on this machine")
        self.name = name
        self._sender, self._now, self._files = sender, now, files
        self._server = Server(
            host=host,
            port=port,
            security=security,
            username=username or None,
            password=password,
            tls_context=tls_context or (None if security == "none" else ssl.create_default_context()),
            access=access,
        )
        self.capabilities = replace(
            EMAIL,
            inbound=imap is not None and bool(imap.authserv_id),
            dedupes_for_seconds=_DROPS_COPIES.get(host.lower(), 0.0),
        )
        self._own = OwnMessages(sender, key)
        self._reply_tags = imap is not None and imap.reply_tags
        self._listening = self._listener(imap) if imap else None
        if self._listening is not None:  # otherwise there is nothing to listen to, and it is no `Listen`
            self.listen = self._listening.listen

    @classmethod
    def of(cls, name: str, options: EmailSettings | EmailAccount, given: Surroundings) -> Email:
        if isinstance(options, EmailAccount) and mailbox(options.address) is None:
            raise ValueError("address must be a single e-mail address")
        access = MailAccess(grant_file(name, given.home), mail_provider(options), name) if options.by_token else None
        return cls(
            options.smtp_host,
            options.smtp_port,
            options.security,
            options.login or None,
            None if access else options.password.reveal() or None,
            options.sender,
            name=name,
            imap=_imap(options, access),
            access=access,
            key=given.key("mail that comes back"),  # marks ours, so that a report is known to be about one
            files=given.files,
        )

    def __repr__(self) -> str:
        server = self._server
        return f"Email({server.host}:{server.port}, security={server.security}, from_address={self._sender})"

    def prepare(self, message: Message) -> Sequence[OutgoingMail]:
        check_files(message, EMAIL, self._files, empty=True)
        name = self._own.marked_id(message.delivery_id)
        shown = replace(self._tagged(message), thread=self._own.thread(message.thread))
        more = tuple(service_headers(message, name if self._own.key else None))
        mail = build(shown, sender=self._sender, name=name, now=self._written(message), more=more)
        return (replace(mail, message_id=self._own.message_id(message.delivery_id)),)

    async def send(self, part: OutgoingMail, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        contents = [await read_file(self._files, one, ends_at - time.monotonic()) for one in part.files]
        mail = with_files(part, contents) if contents else part
        await _visit(self._server, mail, ends_at - time.monotonic())
        return Receipt(part.message_id)

    async def bring_files(self, message: InboundMessage, timeout_seconds: float) -> Sequence[InboundFile]:
        assert self._listening is not None  # noqa: S101 - what it offers, it has heard
        try:
            return await self._listening.bring_files(message.offers, timeout_seconds)
        except (TimeoutError, OSError, EOFError):
            raise TargetUnavailable("the mail server did not hand out the files") from None

    async def probe(self, timeout_seconds: float) -> str:
        await _visit(self._server, None, timeout_seconds)
        if self._listening is not None:
            await self._listening.probe()
        return f"{self._server.username or self._sender} at {self._server.host}"

    async def close(self) -> None:
        """Nothing stays open between two messages; the mailbox does."""
        if self._listening is not None:
            await self._listening.close()

    def _listener(self, imap: ImapAccount) -> MailListening:
        reading = MailReading(
            channel=self.name,
            own=self._own,
            own_addresses=frozenset({folded(self._sender), folded(imap.user)}),
            authserv_id=imap.authserv_id,
        )
        return MailListening(imap, reading, self._now)

    def _tagged(self, message: Message) -> Message:
        """Where a relay gives mails other ids, the address that is answered to says which one is meant."""
        markup = message.markup or Markup()
        if not self._reply_tags or markup.reply_to is not None:
            return message
        return replace(message, markup=replace(markup, reply_to=self._own.reply_address(message.delivery_id)))

    def _written(self, message: Message) -> datetime:
        """A service that drops copies takes a second one for the same only if it is the same to the letter."""
        now = self._now()
        if not self.capabilities.dedupes_for_seconds or not is_uuid(message.delivery_id):
            return now
        accepted = datetime.fromtimestamp(moment_of(message.delivery_id) / 1_000_000, UTC)
        return accepted if timedelta() <= now - accepted < _SAME_DATE else now


def _imap(options: EmailSettings | EmailAccount, access: MailAccess | None) -> ImapAccount | None:
    if not options.imap_host:
        return None
    return ImapAccount(
        host=options.imap_host,
        port=options.imap_port,
        tls=options.imap_tls,
        user=options.address,
        password=options.password.reveal(),
        authserv_id=options.authserv_id,
        reply_tags=options.reply_tags,
        access=access,
    )
