"""E-mail: plain text over SMTP, one visit to the server for each message."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import ClassVar

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Message, Receipt
from postroom.world.channels.email_message import OutgoingMail, build
from postroom.world.channels.kinds import EMAIL
from postroom.world.channels.mailbox import mailbox
from postroom.world.channels.smtp_visit import Security, Server, SmtpVisit


class Email:
    capabilities: ClassVar[Capabilities] = EMAIL

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
        tls_context: ssl.SSLContext | None = None,
        client_name: str = "[127.0.0.1]",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        sender = mailbox(from_address)
        if sender is None:
            raise ValueError("from_address must be a single e-mail address")
        if security not in ("starttls", "tls", "none"):
            raise ValueError("security must be starttls, tls or none")
        if username and security == "none" and not _is_this_machine(host):
            raise ValueError("a login needs starttls or tls unless the mail server is on this machine")
        self.name = name
        self._sender, self._now = sender, now
        self._server = Server(
            host=host,
            port=port,
            security=security,
            username=username or None,
            password=password,
            tls_context=tls_context or (None if security == "none" else ssl.create_default_context()),
            client_name=client_name,
        )

    def __repr__(self) -> str:
        server = self._server
        return f"Email({server.host}:{server.port}, security={server.security}, from_address={self._sender})"

    def address(self, text: str) -> str | None:
        return mailbox(text)

    def prepare(self, message: Message) -> Sequence[OutgoingMail]:
        return (build(message, sender=self._sender, now=self._now()),)

    async def send(self, part: OutgoingMail, timeout_seconds: float) -> Receipt:
        await SmtpVisit(self._server).make(part, timeout_seconds)
        return Receipt(part.message_id)

    async def probe(self, timeout_seconds: float) -> str:
        await SmtpVisit(self._server).make(None, timeout_seconds)
        return f"{self._server.username or self._sender} at {self._server.host}"

    async def close(self) -> None:
        """Nothing stays open between two messages."""


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
