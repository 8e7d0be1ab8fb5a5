"""E-mail over SMTP, with its files in the same mail: one visit to the server for each message."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.delivery import Message, Receipt
from postroom.domain.errors import TargetUnavailable
from postroom.domain.file_contents import FileContents
from postroom.domain.ids import is_uuid, moment_of
from postroom.domain.inbound_message import InboundFile, InboundMessage, Listened
from postroom.domain.markup import Markup
from postroom.world.channels.carried_files import check_files, read_file
from postroom.world.channels.email_message import OutgoingMail, build, with_files
from postroom.world.channels.kinds import EMAIL
from postroom.world.channels.mail_listening.account import ImapAccount
from postroom.world.channels.mail_listening.answered_message import OwnMessages
from postroom.world.channels.mail_listening.incoming import MailReading
from postroom.world.channels.mail_listening.listening import MailListening
from postroom.world.channels.mail_oauth.access import MailAccess
from postroom.world.channels.mail_security import Security
from postroom.world.channels.mail_service_headers import service_headers
from postroom.world.channels.mailbox import is_this_machine, mailbox
from postroom.world.channels.smtp_visit import Server, visit

_SAME_DATE: Final = timedelta(hours=1)
_DROPS_COPIES: Final = {"smtp.resend.com": 23 * 3600.0}
"""Servers that know a second copy by its idempotency key, and for how long; Resend says 24 hours."""


class Email:
    """
    With `imap` it also listens; replies are answers where our own server proves who sent them.

    `key` is the household's: by it we know a report of a mail that we have sent. Without one none is believed.
    """

    def __init__(
        self,
        host: str,
        port: int,
        security: Security,
        username: str | None,
        password: str | None,
        from_address: str,
        *,
        name: str = "email",
        imap: ImapAccount | None = None,
        access: MailAccess | None = None,
        key: bytes | None = None,
        tls_context: ssl.SSLContext | None = None,
        client_name: str = "[127.0.0.1]",
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        sender = mailbox(from_address)
        if sender is None:
            raise ValueError("from_address must be a single e-mail address")
        if security not in ("starttls", "tls", "none"):
            raise ValueError("security must be starttls, tls or none")
        if username and security == "none" and not is_this_machine(host):
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
            client_name=client_name,
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
            self.listen = self._listen

    def __repr__(self) -> str:
        server = self._server
        return f"Email({server.host}:{server.port}, security={server.security}, from_address={self._sender})"

    def address(self, text: str) -> str | None:
        return mailbox(text)

    def prepare(self, message: Message) -> Sequence[OutgoingMail]:
        check_files(message, EMAIL, self._files, empty=True)
        name = self._own.marked_id(message.delivery_id)
        shown = replace(self._tagged(message), thread=self._own.thread(message.thread))
        more = tuple(service_headers(message, name if self._own.key else None))
        mail = build(shown, sender=self._sender, name=name, now=self._written(message), more=more)
        return (replace(mail, message_id=self._own.message_id(message.delivery_id)),)

    async def send(self, part: OutgoingMail, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        mail = await self._whole(part, ends_at) if part.files else part
        await visit(self._server, mail, ends_at - time.monotonic())
        return Receipt(part.message_id)

    async def bring_files(self, message: InboundMessage, timeout_seconds: float) -> Sequence[InboundFile]:
        assert self._listening is not None  # noqa: S101 - what it offers, it has heard
        try:
            return await self._listening.bring_files(message.offers, timeout_seconds)
        except (TimeoutError, OSError, EOFError):
            raise TargetUnavailable("the mail server did not hand out the files") from None

    async def probe(self, timeout_seconds: float) -> str:
        await visit(self._server, None, timeout_seconds)
        if self._listening is not None:
            await self._listening.probe()
        return f"{self._server.username or self._sender} at {self._server.host}"

    async def close(self) -> None:
        """Nothing stays open between two messages; the mailbox does."""
        if self._listening is not None:
            await self._listening.close()

    async def _whole(self, mail: OutgoingMail, ends_at: float) -> OutgoingMail:
        return with_files(mail, [await read_file(self._files, one, ends_at - time.monotonic()) for one in mail.files])

    async def _listen(self, position: int | None, timeout_seconds: float) -> Listened:
        assert self._listening is not None  # noqa: S101 - only then is it a method of ours
        return await self._listening.listen(position, timeout_seconds)

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
