"""Hear what people write by mail: each mail once, in order, as what it is to us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Final

import structlog

from postroom.channels.email.building import domain_of, message_id
from postroom.channels.email.incoming.imap import (
    FETCHED_BYTES,
    MONTHS,
    FetchedMail,
    ImapAccount,
    ImapRefused,
    ImapSession,
    LoginRefused,
    MailPosition,
)
from postroom.channels.email.incoming.own_words import LONGEST, marks, own_words, unflowed
from postroom.channels.email.incoming.reading import (
    MailSender,
    OwnMessages,
    bytes_of,
    files_in,
    header,
    headers,
    html_words,
    is_text,
    name_of,
    parsed,
    parts_of,
    sender_of,
    subject_of,
    text_of,
)
from postroom.channels.email.incoming.trust import Bounce, bounce_in, is_proved
from postroom.channels.shared import with_ending
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.message.delivery import folded
from postroom.message.inbound import Assurance, Flag, InboundEvent, InboundFile, InboundMessage, LateNews, Listened

# One mail as what it is to us: a person's words, news of a mail of ours, or nothing.


@dataclass(frozen=True, slots=True, kw_only=True)
class MailReading:
    """Pure: the same mail is the same event, however often and under whatever number it is fetched."""

    channel: str
    own: OwnMessages
    own_addresses: frozenset[str]
    authserv_id: str

    def event(self, mail: FetchedMail) -> InboundEvent | None:
        message = parsed(mail.content)
        if bounce := bounce_in(message):
            return self._news(mail, message, bounce)
        sender = sender_of(message)
        return self._words(mail, message, sender) if sender else None

    def _news(self, mail: FetchedMail, message: Message, bounce: Bounce) -> LateNews | None:
        """Anybody can write a report: it counts when it shows the mark of the mail, and names whom that went to."""
        about = self.own.proved_by(bounce.about)
        if about is None:
            return None
        return LateNews(
            channel=self.channel,
            event_id=f"mail:{_name(mail, message)}",
            kind=bounce.kind,
            at_us=mail.at_us or 0,
            words=bounce.words,
            delivery_id=about,
            recipients=bounce.recipients,
            for_good=bounce.is_final,
        )

    def _words(self, mail: FetchedMail, message: Message, sender: MailSender) -> InboundMessage:
        answered, flags = self.own.answered_by(message), marks(message, sender.address, self.own_addresses)
        proved = is_proved(headers(message, "Authentication-Results"), self.authserv_id, domain_of(sender.address))
        flags = flags if proved else flags | {Flag.UNVERIFIED}
        written = _whole_text(message)
        text = own_words(written, sender.name, self.own_addresses)
        return InboundMessage(
            channel=self.channel,
            number=mail.uid,
            message_id=_name(mail, message),
            places=tuple(dict.fromkeys([sender.address, folded(sender.address)])),
            sender=sender.address if proved else None,
            text=text,
            original=written or None,
            subject=subject_of(message),
            replies_to=None if answered is None else self.own.message_id(answered),
            answers=answered,
            alone=answered is not None and not flags,
            addressed=not flags,
            said_at_us=mail.at_us,
            flags=flags,
            assurance=Assurance.CHANNEL if proved else Assurance.NONE,
            offers=_offers(mail, message),
        )


def _whole_text(message: Message) -> str:
    """Plain text is preferred: it is what was typed. What is attached is not read."""
    parts = list(parts_of(message))
    for part in (one for one in parts if is_text(one, "plain")):
        text = text_of(part)
        if text.strip():
            return (unflowed(text) if part.get_param("format") == "flowed" else text)[:LONGEST]
    html = next((one for one in parts if is_text(one, "html")), None)
    return html_words(text_of(html))[:LONGEST] if html is not None else ""


def _brought(mail: FetchedMail, most_bytes: int) -> list[InboundFile]:
    """The files of a mail; of one that is longer than what is here those that came whole."""
    message = parsed(mail.content)
    parts = list(files_in(message))
    found = [InboundFile(name=_file_name(one), content=bytes_of(one)) for one in parts]
    found = [one if one.content else replace(one, content=None, problem="it could not be read") for one in found]
    if len(mail.content) < most_bytes:
        return found
    ends_in = list(parts_of(message))[-1:]  # where it is cut
    is_cut = bool(parts) and ends_in == parts[-1:]
    told = f"of one mail {most_bytes // 1_048_576} MB are taken, and this one is larger"
    name = found.pop().name if is_cut else "the other files of this mail"
    return [*found, InboundFile(name=name, problem=told)]


def _offers(mail: FetchedMail, message: Message) -> tuple[InboundFile, ...]:
    """Of a long mail only the beginning is here, so that there may be files in it that are not seen yet."""
    names = [_file_name(one) for one in files_in(message)]
    if not names and len(mail.content) >= FETCHED_BYTES and message.is_multipart():
        names = ["the files of this mail"]
    return tuple(InboundFile(reference=f"{mail.validity}:{mail.uid}", name=name) for name in names)


def _file_name(part: Message) -> str:
    return name_of(part) or with_ending("file", part.get_content_type())


def _name(mail: FetchedMail, message: Message) -> str:
    """Stable over every numbering of the mailbox, where the mail has a name of its own."""
    try:
        named = message_id("Message-ID", header(message, "Message-ID"))
    except ValidationError:
        named = None
    return named or f"{mail.validity}:{mail.uid}"


# Look into the mailbox again and again, without touching anything in it.

SWEEP_SECONDS: Final = 60.0  # a server may be silent about a mail; it also ends IDLE long before its 29 minutes
MOST_AT_ONCE: Final = 20
_MOST_MAIL_BYTES: Final = 48 * 1_048_576  # of one whose files are wanted; few servers take more than half of it
_LONGEST_READING_SECONDS: Final = 20.0  # of one mail, which takes some hundredths
_MOST_LOOKED_BACK: Final = 200
_LOOK_BACK: Final = timedelta(days=31)  # a question is open for thirty
_FIRST_PAUSE: Final = timedelta(seconds=30)
_LONGEST_PAUSE: Final = timedelta(minutes=15)

_STUMBLES: Final = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)
_log = structlog.get_logger("postroom.mail")


def readable_event(reading: MailReading, mail: FetchedMail) -> InboundEvent | None:
    """What the mail library itself stumbles over is no person's mail, and must not hold up all behind it."""
    try:
        return reading.event(mail)
    except _STUMBLES as error:
        _log.warning("mail.unreadable", uid=mail.uid, error=type(error).__name__)
        return None


async def _read_beside(reading: MailReading, mail: FetchedMail) -> InboundEvent | None:
    """Beside the loop, and one that is not read in time is left behind: the next ones are read meanwhile."""
    try:
        async with asyncio.timeout(_LONGEST_READING_SECONDS):
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
                mail = await session.fetch(int(uid), _MOST_MAIL_BYTES) if session.validity == int(validity) else None
                if mail is not None:
                    return await asyncio.to_thread(_brought, mail, _MOST_MAIL_BYTES)
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
        found = [uid for uid in await session.uids(self._ours()) if uid <= last][-_MOST_LOOKED_BACK:]
        heard = await self._listened(session, found, _MOST_LOOKED_BACK)
        return Listened(events=heard.events, position=MailPosition(session.validity, last).number)

    def _ours(self) -> str:
        since = (self._now().astimezone(UTC) - _LOOK_BACK).date()
        domain = domain_of(self._reading.own.address)
        about = f'OR HEADER In-Reply-To "@{domain}" OR HEADER References "@{domain}"'
        day = f"{since.day}-{MONTHS[since.month - 1]}-{since.year}"
        return f'SINCE {day} {about} HEADER Content-Type "multipart/report"'

    async def _listened(self, session: ImapSession, uids: Sequence[int], most: int) -> Listened:
        events: list[InboundEvent] = []
        for uid in uids[:most]:
            mail = await session.fetch(uid)
            event = await _read_beside(self._reading, mail) if mail else None
            if event is not None:
                events.append(event)
        position = MailPosition(session.validity, uids[:most][-1]).number if uids else None
        return Listened(events=tuple(events), position=position, everything=len(uids) <= most)
