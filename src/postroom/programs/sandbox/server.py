"""All sandbox servers, started and stopped together in the running loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from aiohttp import web

from postroom.domain.clock import Clock
from postroom.domain.web_address import web_address
from postroom.programs.sandbox.application import build_application
from postroom.programs.sandbox.bot_api import BotApi
from postroom.programs.sandbox.bot_name import SANDBOX_TOKEN
from postroom.programs.sandbox.control import Control
from postroom.programs.sandbox.faults import ArmedFaults
from postroom.programs.sandbox.imap.server import ImapServer
from postroom.programs.sandbox.ledger import SandboxLedger
from postroom.programs.sandbox.logs import http_logger
from postroom.programs.sandbox.page import SandboxPage
from postroom.programs.sandbox.person import SandboxPerson
from postroom.programs.sandbox.smtp import Mailroom, SmtpServer
from postroom.system.clock import SystemClock
from postroom.system.signal import Signal

DEFAULT_BOT_API_PORT = 40290
DEFAULT_SMTP_PORT = 40225
DEFAULT_IMAP_PORT = 40243
_STOP_SECONDS = 2.0
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - listed to keep them out of the allowed names

__all__ = [
    "DEFAULT_BOT_API_PORT",
    "DEFAULT_IMAP_PORT",
    "DEFAULT_SMTP_PORT",
    "SANDBOX_TOKEN",
    "Sandbox",
    "SandboxOptions",
    "serve",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """
    Port 0 takes any free port; a bound socket wins over host and port.

    With a token, only that one opens the Bot API; without, any that looks like one.
    """

    host: str = "127.0.0.1"
    bot_api_port: int = 0
    smtp_port: int = 0
    imap_port: int = 0
    ledger_path: Path | None = None
    token: str | None = None
    allowed_hosts: Sequence[str] = ()
    bot_api_socket: socket.socket | None = None
    smtp_socket: socket.socket | None = None
    imap_socket: socket.socket | None = None
    smtp_starttls: ssl.SSLContext | None = None
    smtp_implicit_tls: ssl.SSLContext | None = None
    household: str | None = None  # whose sandbox this is, for those who ask /health


class Sandbox:
    def __init__(self, options: SandboxOptions, clock: Clock | None = None) -> None:
        self.options = options
        self.ledger = SandboxLedger(options.ledger_path)
        self.faults = ArmedFaults()
        self.bot_api_port = 0
        self.smtp_port = 0
        self.imap_port = 0
        self.clock = clock or SystemClock()
        self.stopping = asyncio.Event()
        self._news = Signal()
        self.application = self._made_application()
        self._runner = self._http()
        self._smtp = self._mail()
        self._imap = ImapServer(self.ledger.email, self._news)

    @property
    def bot_api_url(self) -> str:
        return web_address(self.options.host, self.bot_api_port)

    async def start(self) -> None:
        options = self.options
        try:
            await self._runner.setup()
            await self._http_site().start()
            self.bot_api_port = int(self._runner.addresses[0][1])
            if options.smtp_socket is not None:
                self.smtp_port = await self._smtp.start(sock=options.smtp_socket)
            else:
                self.smtp_port = await self._smtp.start(host=options.host, port=options.smtp_port)
            if options.imap_socket is not None:
                self.imap_port = await self._imap.start(sock=options.imap_socket)
            else:
                self.imap_port = await self._imap.start(host=options.host, port=options.imap_port)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Long polls, delays and hanging calls end at once."""
        self.stopping.set()
        self._news.ring()
        self.ledger.changes.ring()
        await self._smtp.stop()
        await self._imap.stop()
        await self._runner.cleanup()
        self.ledger.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _made_bot_api(self) -> BotApi:
        return BotApi(
            ledger=self.ledger.telegram,
            files=self.ledger.files,
            faults=self.faults,
            clock=self.clock,
            news=self._news,
            stopping=self.stopping,
            token=self.options.token,
        )

    def _made_application(self) -> web.Application:
        options = self.options
        person = SandboxPerson(
            ledger=self.ledger, clock=self.clock, news=self._news, token=options.token or SANDBOX_TOKEN
        )
        return build_application(
            bot_api=self._made_bot_api(),
            control=Control(ledger=self.ledger, faults=self.faults, person=person, household=options.household),
            page=SandboxPage(ledger=self.ledger, faults=self.faults, person=person, stopping=self.stopping),
            hosts={*options.allowed_hosts, options.host} - _ANY_ADDRESS,
        )

    def _http(self) -> web.AppRunner:
        return web.AppRunner(
            self.application,
            access_log=None,  # the bot token is part of every URL
            logger=http_logger(),
            handler_cancellation=True,
            auto_decompress=False,
            shutdown_timeout=_STOP_SECONDS,
        )

    def _http_site(self) -> web.BaseSite:
        options = self.options
        if options.bot_api_socket is not None:
            return web.SockSite(self._runner, options.bot_api_socket)
        return web.TCPSite(self._runner, options.host, options.bot_api_port)

    def _mail(self) -> SmtpServer:
        mailroom = Mailroom(ledger=self.ledger.email, faults=self.faults, clock=self.clock, stopping=self.stopping)
        options = self.options
        return SmtpServer(mailroom, starttls=options.smtp_starttls, implicit_tls=options.smtp_implicit_tls)


@asynccontextmanager
async def serve(
    host: str = "127.0.0.1",
    bot_api_port: int = 0,
    smtp_port: int = 0,
    ledger_path: Path | None = None,
    *,
    token: str | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Sandbox]:
    """The usual sandbox; anything rarer goes through `Sandbox(SandboxOptions(...))`."""
    options = SandboxOptions(
        host=host, bot_api_port=bot_api_port, smtp_port=smtp_port, ledger_path=ledger_path, token=token
    )
    async with Sandbox(options, clock) as sandbox:
        yield sandbox
