"""The sandbox's SMTP server: takes every mail, keeps it, and fails when told to."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, AnyStr, assert_never, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from postroom.programs.sandbox.email_ledger import EmailLedger
from postroom.programs.sandbox.faults import HANG_LIMIT_SECONDS, ArmedFaults, Fault, FaultChannel, Mode, smtp_code
from postroom.programs.sandbox.logs import silence_smtp
from postroom.programs.sandbox.mail import read_mail

MAX_MAIL_BYTES = 30 * 1_048_576
IDLE_SECONDS = 300
HOST_NAME = "sandbox.invalid"
BANNER = "Postroom SANDBOX, nothing leaves this machine"
_STOP_SECONDS = 5


class Mailroom:
    """The handler aiosmtpd calls."""

    def __init__(self, *, ledger: EmailLedger, faults: ArmedFaults, clock: Clock, stopping: asyncio.Event) -> None:
        self._ledger = ledger
        self._faults = faults
        self._clock = clock
        self._stopping = stopping

    def refuses(self) -> bool:
        """A new connection and a new mail on an old one are both a moment to be refused."""
        fault = self._faults.peek(FaultChannel.EMAIL)
        if fault is None or fault.mode is not Mode.REFUSE:
            return False
        self._faults.take(FaultChannel.EMAIL)
        return True

    async def handle_MAIL(
        self, server: Any, session: Session, envelope: Envelope, address: str, mail_options: list[str]
    ) -> str:
        if self.refuses():
            server.hang_up_after_answer()
            return "421 4.3.2 sandbox fault: closing connection"
        envelope.mail_from = address
        envelope.mail_options.extend(mail_options)
        return "250 2.1.0 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:
        fault = self._faults.take(FaultChannel.EMAIL)
        if fault is None:
            return self._keep(envelope)
        if fault.mode is not None:
            await self._misbehave(fault.mode, envelope)
            server.cut()
            return "421 4.3.2 sandbox fault"
        if fault.status is not None:
            return self._refuse(server, fault, smtp_code(fault.status))
        answer = self._keep(envelope)
        await self._pause(fault.delay_seconds or 0.0)
        return answer

    async def handle_exception(self, error: Exception) -> str:
        """The error's own text may quote the mail."""
        return f"451 4.3.0 sandbox error: {type(error).__name__}"

    async def _misbehave(self, mode: Mode, envelope: Envelope) -> None:
        match mode:
            case Mode.ACCEPT_THEN_CUT:
                self._keep(envelope)
            case Mode.HANG:
                await self._pause(HANG_LIMIT_SECONDS)
            case Mode.REFUSE:
                pass
            case _:
                assert_never(mode)

    def _refuse(self, server: Any, fault: Fault, code: int) -> str:
        if code == 421:
            server.hang_up_after_answer()
        wait = "" if fault.retry_after is None else f", retry after {fault.retry_after} seconds"
        return f"{code} {code // 100}.3.0 sandbox fault{wait}"

    def _keep(self, envelope: Envelope) -> str:
        raw = envelope.content if isinstance(envelope.content, bytes) else b""
        mail = read_mail(raw, sender=envelope.mail_from or "", recipients=envelope.rcpt_tos)
        stored = self._ledger.keep(mail, from_person=False, now_us=self._clock.now_us())
        return f"250 2.0.0 OK: kept by the sandbox as {stored.email_id}"

    async def _pause(self, pause_seconds: float) -> None:
        await self._clock.wait(self._stopping, self._clock.now_us() + seconds(pause_seconds))


class SmtpConnection(SMTP):
    def __init__(
        self, mailroom: Mailroom, open_connections: set[SmtpConnection], starttls: ssl.SSLContext | None
    ) -> None:
        super().__init__(
            mailroom,
            data_size_limit=MAX_MAIL_BYTES,
            enable_SMTPUTF8=True,
            hostname=HOST_NAME,
            ident=BANNER,
            tls_context=starttls,
            timeout=IDLE_SECONDS,
            auth_require_tls=False,
            authenticator=_welcome,
            loop=asyncio.get_running_loop(),
        )
        self._mailroom = mailroom
        self._open = open_connections
        self._leaving = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        after_starttls = self in self._open
        super().connection_made(transport)
        self._open.add(self)
        if not after_starttls and self._mailroom.refuses():
            self.finished().cancel()
            self.cut()

    def connection_lost(self, error: Exception | None) -> None:
        self._open.discard(self)
        super().connection_lost(error)

    def cut(self) -> None:
        """No goodbye: whatever is still to be written is thrown away."""
        if self.transport is not None:
            cast(asyncio.Transport, self.transport).abort()

    def hang_up_after_answer(self) -> None:
        self._leaving = True

    async def push(self, status: AnyStr) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        await super().push(status)
        if self._leaving:
            self.transport.close()

    def finished(self) -> asyncio.Task[None]:
        if self._handler_coroutine is None:
            raise RuntimeError("the connection was never made")
        return self._handler_coroutine


class SmtpServer:
    def __init__(
        self, mailroom: Mailroom, *, starttls: ssl.SSLContext | None = None, implicit_tls: ssl.SSLContext | None = None
    ) -> None:
        self._mailroom = mailroom
        self._starttls = starttls
        self._implicit_tls = implicit_tls
        self._open: set[SmtpConnection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, **where: Any) -> int:
        """`host` and `port`, or a bound `sock`. Answers with the port."""
        silence_smtp()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, ssl=self._implicit_tls, **where)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        ending = [connection.finished() for connection in self._open]
        for connection in tuple(self._open):
            connection.cut()
        if ending:
            await asyncio.wait(ending, timeout=_STOP_SECONDS)
        await self._server.wait_closed()
        self._server = None

    def _accept(self) -> SmtpConnection:
        return SmtpConnection(self._mailroom, self._open, self._starttls)


def _welcome(server: Any, session: Session, envelope: Envelope, mechanism: str, credentials: Any) -> AuthResult:
    """Any name and password will do; neither is kept."""
    return AuthResult(success=True)
