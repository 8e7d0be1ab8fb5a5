"""Hear the mail that a mail server of our own hands over: the same events as from a mailbox, each taken once stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Final

from postroom.domain.inbound_message import Listened
from postroom.world.channels.mail_listening.imap_session import FETCHED_BYTES, FetchedMail
from postroom.world.channels.mail_listening.incoming import MailReading
from postroom.world.channels.mail_listening.listening import read_beside
from postroom.world.channels.mail_listening.lmtp_account import LmtpAccount
from postroom.world.channels.mail_listening.lmtp_server import HandedMail, LmtpServer

MOST_AT_ONCE: Final = 20


class MailHandedOver:
    """
    Positions count looks that brought something.

    Being asked with the position of the last look says that it is stored: only then is it acknowledged. Asked with
    any other, or not at all, the mail server keeps it and comes again, and the same mail is the same event.
    """

    def __init__(self, account: LmtpAccount, reading: MailReading, now: Callable[[], datetime]) -> None:
        self._server = LmtpServer(account)
        self._reading = reading
        self._now = now
        self._handed: list[HandedMail] = []
        self._position = 0

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        self._settle(position)
        await self._server.start()
        mails = await self._waiting(timeout_seconds)
        if not mails:
            return Listened(position=0 if position is None else None)
        self._handed = mails
        events = [event for mail in mails if (event := await read_beside(self._reading, self._fetched(mail.content)))]
        self._position = (position or 0) + 1
        return Listened(events=tuple(events), position=self._position, everything=self._server.waiting.empty())

    async def probe(self) -> None:
        """There is no one to ask: it is we who are called."""

    async def close(self) -> None:
        self._settle(None)
        await self._server.stop()

    def _settle(self, position: int | None) -> None:
        for mail in self._handed:
            mail.end(handled=position is not None and position == self._position)
        self._handed = []

    async def _waiting(self, timeout_seconds: float) -> list[HandedMail]:
        waiting = self._server.waiting
        try:
            async with asyncio.timeout(max(timeout_seconds, 0.05)):
                mails = [await waiting.get()]
        except TimeoutError:
            return []
        while not waiting.empty() and len(mails) < MOST_AT_ONCE:
            mails.append(waiting.get_nowait())
        return mails

    def _fetched(self, content: bytes) -> FetchedMail:
        """A mail without a name of its own is known by what is in it, so that it is the same when it comes again."""
        digest = sha256(content).digest()
        return FetchedMail(
            validity=int.from_bytes(digest[:4]) >> 1,
            uid=int.from_bytes(digest[4:8]) >> 1,
            at_us=int(self._now().timestamp()) * 1_000_000,
            content=content[:FETCHED_BYTES],
        )
