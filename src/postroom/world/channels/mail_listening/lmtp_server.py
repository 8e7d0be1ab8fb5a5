"""An LMTP server that says "taken" only once what it took has been handled."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import Envelope, Session

from postroom.domain.errors import TargetUnavailable
from postroom.world.channels.mail_listening.lmtp_account import LmtpAccount

MOST_BYTES: Final = 10 * 1_048_576
MOST_WAITING: Final = 20
_LONGEST_LINE: Final = 1_048_576
_HANDLED_SECONDS: Final = 240.0
_IDLE_SECONDS: Final = 300
_LATER: Final = "451 4.3.0 not handled yet, please try again"
_FULL: Final = "452 4.3.1 too many mails at once, please try again"
_ONE: Final = "452 4.5.3 one recipient at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedMail:
    """`handled` is set to True once it is safe with us, and to False when it has to come again."""

    content: bytes = field(repr=False)
    handled: asyncio.Future[bool] = field(repr=False)

    def end(self, *, handled: bool) -> None:
        if not self.handled.done():
            self.handled.set_result(handled)


class _Patient(LMTP):
    """A program breaks no lines that a person would; what is too long altogether is refused by its size."""

    line_length_limit = _LONGEST_LINE


class LmtpServer:
    """Nothing is kept here: until it is handled, a mail is in the queue of the server that hands it over."""

    def __init__(self, account: LmtpAccount) -> None:
        self._account = account
        self._server: asyncio.Server | None = None
        self.waiting: asyncio.Queue[HandedMail] = asyncio.Queue(MOST_WAITING)
        logging.getLogger("mail.log").setLevel(logging.CRITICAL)  # it would write down whatever a peer says

    async def start(self) -> None:
        """Raises TargetUnavailable when the place is taken."""
        if self._server is not None:
            return
        failed = False
        try:
            self._server = await self._bound()
        except OSError:
            failed = True
        if failed:
            raise TargetUnavailable(f"no mail can be taken at {self._account.place}: the place is taken or not ours")

    async def stop(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        while not self.waiting.empty():
            self.waiting.get_nowait().end(handled=False)
        _forget(self._account.socket)

    async def handle_RCPT(
        self, _server: Any, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """LMTP answers for each recipient apart, and to us every one is the same."""
        if envelope.rcpt_tos:
            return _ONE
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_DATA(self, _server: Any, _session: Session, envelope: Envelope) -> str:
        content = envelope.original_content or b""
        mail = HandedMail(content=content, handled=asyncio.get_running_loop().create_future())
        try:
            self.waiting.put_nowait(mail)
        except asyncio.QueueFull:
            return _FULL
        try:
            async with asyncio.timeout(_HANDLED_SECONDS):
                return "250 2.0.0 OK" if await mail.handled else _LATER
        except TimeoutError:
            return _LATER

    async def handle_exception(self, error: Exception) -> str:
        """The error's own text may quote the mail."""
        return f"451 4.3.0 {type(error).__name__}"

    async def _bound(self) -> asyncio.Server:
        loop, account = asyncio.get_running_loop(), self._account
        if not account.socket:
            return await loop.create_server(self._session, account.host, account.port)
        _forget(account.socket)  # of a process that ended without goodbye
        server = await loop.create_unix_server(self._session, account.socket)
        os.chmod(account.socket, 0o660)  # noqa: PTH101 - for the mail server's group
        return server

    def _session(self) -> LMTP:
        return _Patient(
            self,
            data_size_limit=MOST_BYTES,
            hostname="localhost",
            ident="Postroom LMTP",
            timeout=_IDLE_SECONDS,
            loop=asyncio.get_running_loop(),
        )


def _forget(socket: str) -> None:
    if socket:
        with contextlib.suppress(FileNotFoundError):
            Path(socket).unlink()
