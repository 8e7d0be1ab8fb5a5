"""Hear what people write by mail: each mail once, in order, without touching anything in the mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from postroom.domain.errors import TargetUnavailable
from postroom.domain.inbound_message import InboundEvent, InboundFile, Listened
from postroom.world.channels.mail_listening.account import ImapAccount
from postroom.world.channels.mail_listening.imap_session import FetchedMail, ImapRefused, ImapSession, LoginRefused
from postroom.world.channels.mail_listening.incoming import MailReading, brought
from postroom.world.channels.mail_listening.position import MailPosition
from postroom.world.channels.mailbox import domain_of

SWEEP_SECONDS: Final = 60.0  # a server may be silent about a mail; it also ends IDLE long before its 29 minutes
MOST_AT_ONCE: Final = 20
MOST_MAIL_BYTES: Final = 48 * 1_048_576  # of one whose files are wanted; few servers take more than half of it
LONGEST_READING_SECONDS: Final = 20.0  # of one mail, which takes some hundredths
MOST_LOOKED_BACK: Final = 200
_LOOK_BACK: Final = timedelta(days=31)  # a question is open for thirty
_FIRST_PAUSE: Final = timedelta(seconds=30)
_LONGEST_PAUSE: Final = timedelta(minutes=15)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_STUMBLES: Final = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)
_log = structlog.get_logger("postroom.mail")


def readable_event(reading: MailReading, mail: FetchedMail) -> InboundEvent | None:
    """What the mail library itself stumbles over is no person's mail, and must not hold up all behind it."""
    try:
        return reading.event(mail)
    except _STUMBLES as error:
        _log.warning("mail.unreadable", uid=mail.uid, error=type(error).__name__)
        return None


async def read_beside(reading: MailReading, mail: FetchedMail) -> InboundEvent | None:
    """Beside the loop, and one that is not read in time is left behind: the next ones are read meanwhile."""
    try:
        async with asyncio.timeout(LONGEST_READING_SECONDS):
            return await asyncio.to_thread(readable_event, reading, mail)
    except TimeoutError:
        _log.warning("mail.unreadable", uid=mail.uid, error="took too long")
        return None


class MailListening:
    """
    Positions are the mailbox's UIDVALIDITY and the last UID that was handled.

    A mailbox that is read for the first time, or numbered anew, is searched for what concerns our own mails, and for
    no more: each of those is the same event as before, so it is judged once.
    """

    def __init__(self, account: ImapAccount, reading: MailReading, now: Callable[[], datetime]) -> None:
        self._account = account
        self._reading = reading
        self._now = now
        self._session: ImapSession | None = None
        self._refusals = 0
        self._sentence = ""
        self._not_before: datetime | None = None

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        session = await self._ready()
        try:
            return await self._look(session, position, timeout_seconds)
        except ImapRefused:
            await self.close()
            raise TargetUnavailable("the mail server would not search or fetch mail for us") from None
        except BaseException:
            await self.close()
            raise

    async def bring_files(self, offered: Sequence[InboundFile], timeout_seconds: float) -> Sequence[InboundFile]:
        """The mail once more, now whole; its files are nowhere else."""
        validity, _, uid = offered[0].reference.partition(":")
        try:
            async with asyncio.timeout(timeout_seconds):
                session = await self._ready()
                mail = await session.fetch(int(uid), MOST_MAIL_BYTES) if session.validity == int(validity) else None
                if mail is not None:
                    return await asyncio.to_thread(brought, mail, MOST_MAIL_BYTES)
        except ImapRefused:
            pass
        except BaseException:
            await self.close()
            raise
        return [replace(one, problem="the mail is not in the mailbox any more") for one in offered]

    async def probe(self) -> None:
        """Whether the login works; raises one of our errors."""
        session = ImapSession(self._account)
        try:
            await session.open()
        finally:
            session.close()

    async def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    async def _ready(self) -> ImapSession:
        if self._not_before is not None and self._now() < self._not_before:
            raise LoginRefused(self._sentence)
        if self._session is None:
            self._session = await self._opened()
        return self._session

    async def _opened(self) -> ImapSession:
        session = ImapSession(self._account)
        try:
            await session.open()
        except LoginRefused as error:
            self._refused(error.message)
            raise
        except BaseException:
            session.close()
            raise
        self._refusals, self._not_before = 0, None
        return session

    def _refused(self, sentence: str) -> None:
        """Servers lock an account that is tried again and again, so the pauses grow."""
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._refusals, 10))
        self._refusals += 1
        self._sentence = sentence
        self._not_before = self._now() + pause

    async def _look(self, session: ImapSession, position: int | None, timeout_seconds: float) -> Listened:
        before = None if position is None else MailPosition.of(position)
        if before is None or not before.is_in(session.validity):
            return await self._looked_back(session)
        uids = await self._new(session, before.uid, timeout_seconds)
        return await self._listened(session, uids, MOST_AT_ONCE)

    async def _new(self, session: ImapSession, after: int, timeout_seconds: float) -> Sequence[int]:
        """A mail that comes between a search and the waiting is announced in one of the two."""
        clock = asyncio.get_running_loop().time
        deadline, uids = clock() + timeout_seconds, await self._after(session, after)
        while not uids and (left := deadline - clock()) > 0:
            if not session.announced:
                await session.wait(min(left, SWEEP_SECONDS))
            uids = await self._after(session, after)
        return uids

    async def _after(self, session: ImapSession, after: int) -> Sequence[int]:
        """The search finds the last mail whatever its number."""
        session.announced = False
        return [uid for uid in await session.uids(f"UID {after + 1}:*") if uid > after]

    async def _looked_back(self, session: ImapSession) -> Listened:
        last = session.next_uid - 1 if session.next_uid else max([0, *await session.uids("ALL")])
        found = [uid for uid in await session.uids(self._ours()) if uid <= last][-MOST_LOOKED_BACK:]
        heard = await self._listened(session, found, MOST_LOOKED_BACK)
        return Listened(events=heard.events, position=MailPosition(session.validity, last).number)

    def _ours(self) -> str:
        since = (self._now().astimezone(UTC) - _LOOK_BACK).date()
        domain = domain_of(self._reading.own.address)
        about = f'OR HEADER In-Reply-To "@{domain}" OR HEADER References "@{domain}"'
        day = f"{since.day}-{_MONTHS[since.month - 1]}-{since.year}"
        return f'SINCE {day} {about} HEADER Content-Type "multipart/report"'

    async def _listened(self, session: ImapSession, uids: Sequence[int], most: int) -> Listened:
        events: list[InboundEvent] = []
        for uid in uids[:most]:
            mail = await session.fetch(uid)
            event = await read_beside(self._reading, mail) if mail else None
            if event is not None:
                events.append(event)
        position = MailPosition(session.validity, uids[:most][-1]).number if uids else None
        return Listened(events=tuple(events), position=position, everything=len(uids) <= most)
