"""A mailbox over IMAP: what its server says, and a visit that looks, fetches and waits without changing anything."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import ssl
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self, TypeVar

from postroom.channels.email.kind import Tls
from postroom.channels.email.oauth import MailAccess, xoauth2
from postroom.kernel.http.call import out_of_descriptors
from postroom.kernel.values.errors import CredentialsRefused, PostroomError, TargetUnavailable
from postroom.kernel.values.fields import is_loopback


@dataclass(frozen=True, slots=True, kw_only=True)
class ImapAccount:
    """
    `authserv_id` is the name under which the server that receives our mail writes its Authentication-Results.

    Without it no sender is proved, so no mail answers anything; bounces are heard all the same. `reply_tags`: the
    server takes mail for box+anything@domain, so a reply may name what it answers there, too.
    """

    host: str
    port: int = 993
    tls: Tls = "tls"
    user: str = ""
    password: str = field(default="", repr=False)
    mailbox: str = "INBOX"
    authserv_id: str = ""
    reply_tags: bool = False
    access: MailAccess | None = field(default=None, repr=False)
    """Set: tokens of it are shown instead of the password."""
    tls_context: ssl.SSLContext | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.tls == "none" and (self.password or self.access) and not is_loopback(self.host):
            raise ValueError("reading mail needs starttls or tls unless the mail server is on this machine")
        if not self.user:
            raise ValueError("reading mail needs the mailbox's login")
        if any(character in "\r\n\0" for character in self.user + self.password + self.mailbox):
            raise ValueError("the mailbox's login must be one line")


# How far a mailbox has been read, as one number: which mailbox it was, and the last mail in it.

_UID_BITS = 32
_UID_MASK = (1 << _UID_BITS) - 1
_VALIDITY_MASK = (1 << 31) - 1  # so that it fits where signed numbers are kept


@dataclass(frozen=True, slots=True)
class MailPosition:
    """A server that numbers its mails anew says so by another UIDVALIDITY, which is never below an earlier one."""

    validity: int
    uid: int

    @classmethod
    def of(cls, number: int) -> MailPosition:
        return cls(number >> _UID_BITS, number & _UID_MASK)

    @property
    def number(self) -> int:
        return (self.validity & _VALIDITY_MASK) << _UID_BITS | (self.uid & _UID_MASK)

    def is_in(self, validity: int) -> bool:
        return self.validity == validity & _VALIDITY_MASK


# What an IMAP server says, line by line, with the bytes it announces in between; bounded.

_LONGEST_LINE: Final = 2 * 1_048_576  # a search may name a hundred thousand mails
_MOST_BYTES: Final = 50 * 1_048_576
_MOST_LITERALS: Final = 50
_LITERAL: Final = re.compile(rb"\{(\d{1,10})\+?\}\r\n\Z")


class _NotImap(Exception):
    """The server says what no mail server says, or more than we take."""


@dataclass(frozen=True, slots=True)
class _ImapResponse:
    """`line` without its end; each literal is left in it as its announcement, `{n}`."""

    line: str
    literals: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def tag(self) -> str:
        return self.line.partition(" ")[0]

    @property
    def words(self) -> str:
        return self.line.partition(" ")[2]

    @property
    def status(self) -> str:
        """OK, NO, BAD or BYE, where it says one."""
        return self.words.partition(" ")[0].upper()

    @property
    def announces_mail(self) -> bool:
        return re.fullmatch(r"\* \d+ (EXISTS|RECENT)", self.line, re.IGNORECASE) is not None


async def _read_response(reader: asyncio.StreamReader) -> _ImapResponse:
    """Raises NotImap, EOFError or OSError; the caller sets the time limit."""
    pieces = [await _line(reader)]
    literals: list[bytes] = []
    while announced := _LITERAL.search(pieces[-1]):
        wanted = int(announced[1])
        if wanted + sum(map(len, literals)) > _MOST_BYTES or len(literals) >= _MOST_LITERALS:
            raise _NotImap("more bytes than were asked for")
        literals.append(await reader.readexactly(wanted))
        pieces[-1] = pieces[-1].removesuffix(b"\r\n")
        pieces.append(await _line(reader))
    return _ImapResponse(b"".join(pieces).decode("utf-8", "replace").rstrip("\r\n"), tuple(literals))


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError:
        raise _NotImap("a line without an end") from None


# One visit to an IMAP server: look at a mailbox without changing anything in it, fetch, and wait for more.

_STEP_SECONDS: Final = 30.0
FETCHED_BYTES: Final = 1_048_576  # of a longer mail the rest is not needed: what a person wrote stands first
_MOST_UNTAGGED: Final = 10_000
_QUOTABLE: Final = re.compile(r"[\x20-\x7e]*")
_UID: Final = re.compile(r"\bUID (\d{1,10})\b", re.IGNORECASE)
_MOMENT: Final = re.compile(
    r'\bINTERNALDATE " ?(?P<day>\d{1,2})-(?P<month>[a-z]{3})-(?P<year>\d{4}) (?P<time>[\d:]{8}) (?P<zone>[+-]\d{4})"',
    re.IGNORECASE,
)
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CODE: Final = re.compile(r"\[(UIDVALIDITY|UIDNEXT) (\d{1,10})\]", re.IGNORECASE)

_Done = TypeVar("_Done")


class LoginRefused(TargetUnavailable):
    """Trying again soon would only lock the account."""


class ImapRefused(Exception):
    """The server answered NO or BAD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedMail:
    """`at_us` is when our server received it, by its own clock."""

    validity: int
    uid: int
    at_us: int | None
    content: bytes = field(repr=False)


class ImapSession:
    """
    After an error nothing is known of the connection any more: it is dropped and another one opened.

    Errors are raised outside of the handlers that caught the library's own, which may quote what was sent.
    """

    def __init__(self, account: ImapAccount) -> None:
        self._account = account
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._before: asyncio.StreamWriter | None = None
        self._count = 0
        self._abilities: frozenset[str] = frozenset()
        self.validity = 0
        self.next_uid: int | None = None
        self.announced = False
        """The server has spoken of a new mail since this was last set to False."""

    @property
    def can_idle(self) -> bool:
        return "IDLE" in self._abilities

    async def open(self) -> Self:
        await self._step(self._connect())
        await self._log_in()
        self._abilities = await self._capabilities()
        await self._examine()
        return self

    def close(self) -> None:
        """Without a goodbye that one would have to wait for."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = self._before = None

    async def uids(self, criteria: str) -> list[int]:
        said = await self.command(f"UID SEARCH {criteria}")
        found = [one.words.split()[1:] for one in said if one.words.upper().startswith("SEARCH")]
        return sorted({int(uid) for uids in found for uid in uids if uid.isdecimal()})

    async def fetch(self, uid: int, most_bytes: int = FETCHED_BYTES) -> FetchedMail | None:
        """None when the mail is gone."""
        said = await self.command(f"UID FETCH {uid} (UID INTERNALDATE BODY.PEEK[]<0.{most_bytes}>)")
        for one in said:
            named = _UID.search(one.line)
            if named and int(named[1]) == uid and one.literals:
                moment = _moment(one.line)
                return FetchedMail(validity=self.validity, uid=uid, at_us=moment, content=one.literals[-1])
        return None

    async def wait(self, seconds: float) -> None:
        """Until the server speaks of a new mail; it may be silent about one, so a search has the last word."""
        if not self.can_idle:
            await asyncio.sleep(min(seconds, 10.0))
            await self.command("NOOP")
            return
        tag = await self._step(self._begin_idle())
        deadline = asyncio.get_running_loop().time() + seconds
        while not self.announced and (left := deadline - asyncio.get_running_loop().time()) > 0:
            await self._step(self._heard(left), left + _STEP_SECONDS)
        await self._step(self._end_idle(tag))

    async def command(self, text: str, *, private: Sequence[str] = ()) -> list[_ImapResponse]:
        """What the server says until it is done; raises ImapRefused when it does not do it."""
        return await self._step(self._command(text, private))

    async def _connect(self) -> None:
        account = self._account
        context = self._context() if account.tls == "tls" else None
        self._reader, self._writer = await asyncio.open_connection(
            account.host, account.port, ssl=context, limit=_LONGEST_LINE
        )
        greeting = await _read_response(self._reader)
        if greeting.tag != "*" or greeting.status not in ("OK", "PREAUTH"):
            raise _NotImap("no greeting")
        if account.tls == "starttls":
            await self._command("STARTTLS", ())
            await self._encrypt()

    def _context(self) -> ssl.SSLContext:
        return self._account.tls_context or ssl.create_default_context()

    async def _encrypt(self) -> None:
        """Onto a new reader: what came before the encryption could have been put there by others."""
        assert self._writer is not None  # noqa: S101 - connected
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=_LONGEST_LINE)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport = await loop.start_tls(
            self._writer.transport, protocol, self._context(), server_hostname=self._account.host
        )
        if transport is None:
            raise _NotImap("no encryption")
        protocol.connection_made(transport)
        self._before = self._writer  # one that is forgotten closes what is below it
        self._reader, self._writer = reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _log_in(self) -> None:
        account, refused = self._account, False
        try:
            if account.access is not None:
                await self._show_token(account.access)
            elif _QUOTABLE.fullmatch(account.user + account.password):
                await self.command("LOGIN", private=(account.user, account.password))
            else:
                await self._step(self._authenticate(f"\0{account.user}\0{account.password}"))
        except ImapRefused:
            refused = True
        if refused:
            self.close()
            raise LoginRefused("the mail server does not accept our login for reading mail")

    async def _authenticate(self, plain: str) -> None:
        tag = await self._send("AUTHENTICATE PLAIN")
        while (said := await self._read()).tag != "+":
            if said.tag == tag:
                raise ImapRefused
        await self._write(base64.b64encode(plain.encode()) + b"\r\n")
        await self._until(tag)

    async def _show_token(self, access: MailAccess) -> None:
        """One that the server refuses is renewed once; raises LoginRefused when a person has to grant access anew."""
        sentence = ""
        try:
            token = await access.token()
            try:
                await self._step(self._xoauth2(token))
            except ImapRefused:
                await self._step(self._xoauth2(await access.token(refused=token)))
        except CredentialsRefused as error:
            sentence = error.message
        if sentence:
            self.close()
            raise LoginRefused(sentence)

    async def _xoauth2(self, token: str) -> None:
        """An error comes as a challenge, which is answered with nothing to hear the end of it."""
        tag = await self._send("AUTHENTICATE XOAUTH2")
        sent = False
        while (said := await self._read()).tag != tag:
            if said.tag == "+":
                shown = b"" if sent else base64.b64encode(xoauth2(self._account.user, token))
                await self._write(shown + b"\r\n")
                sent = True
        if said.status != "OK":
            raise ImapRefused

    async def _capabilities(self) -> frozenset[str]:
        said = await self.command("CAPABILITY")
        return frozenset(word.upper() for one in said for word in one.words.split())

    async def _examine(self) -> None:
        try:
            said = await self.command("EXAMINE", private=(self._account.mailbox,))
        except ImapRefused:
            said = []
        codes = {name.upper(): int(number) for one in said for name, number in _CODE.findall(one.line)}
        if "UIDVALIDITY" not in codes:
            self.close()
            raise TargetUnavailable(f"the mail server does not open the mailbox {self._account.mailbox!r} for us")
        self.validity, self.next_uid = codes["UIDVALIDITY"], codes.get("UIDNEXT")

    async def _begin_idle(self) -> str:
        tag = await self._send("IDLE")
        while (said := await self._read()).tag != "+":
            if said.tag == tag:
                raise _NotImap("no waiting")
        return tag

    async def _heard(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._read()

    async def _end_idle(self, tag: str) -> None:
        await self._write(b"DONE\r\n")
        await self._until(tag)

    async def _command(self, text: str, private: Sequence[str]) -> list[_ImapResponse]:
        return await self._until(await self._send(" ".join([text, *map(_quoted, private)])))

    async def _send(self, text: str) -> str:
        self._count += 1
        tag = f"p{self._count}"
        await self._write(f"{tag} {text}\r\n".encode())
        return tag

    async def _write(self, data: bytes) -> None:
        if self._writer is None:
            raise EOFError
        self._writer.write(data)
        await self._writer.drain()

    async def _read(self) -> _ImapResponse:
        if self._reader is None:
            raise EOFError
        said = await _read_response(self._reader)
        if said.tag == "*" and said.status == "BYE":
            raise EOFError
        self.announced = self.announced or said.announces_mail
        return said

    async def _until(self, tag: str) -> list[_ImapResponse]:
        said: list[_ImapResponse] = []
        while (one := await self._read()).tag != tag:
            if len(said) >= _MOST_UNTAGGED:
                raise _NotImap("no end")
            said.append(one)
        if one.status != "OK":
            raise ImapRefused
        return said

    async def _step(self, doing: Coroutine[Any, Any, _Done], seconds: float = _STEP_SECONDS) -> _Done:
        """Drops the connection unless the step came to an end, whatever stopped it."""
        failure: PostroomError | None = None
        ended = False
        try:
            async with asyncio.timeout(seconds):
                done = await doing
            ended = True
        except ImapRefused:
            ended = True
            raise
        except TimeoutError:
            failure = TargetUnavailable("the mail server was silent for too long while we read mail")
        except ssl.SSLCertVerificationError:
            failure = TargetUnavailable(f"the certificate of the mail server {self._account.host} is not valid")
        except _NotImap:
            failure = TargetUnavailable("the server does not speak IMAP as we know it")
        except (OSError, EOFError, UnicodeError) as error:
            failure = out_of_descriptors(error) or TargetUnavailable(
                "the mail server could not be reached for reading mail"
            )
        finally:
            if not ended:
                self.close()
        if failure:
            raise failure
        return done


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _moment(line: str) -> int | None:
    """Month names are English, whatever the language of this machine."""
    found = _MOMENT.search(line)
    if found is None or (month := found["month"].title()) not in MONTHS:
        return None
    text = f"{found['year']}-{MONTHS.index(month) + 1:02}-{int(found['day']):02}T{found['time']}{found['zone']}"
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1_000_000
    except (ValueError, OverflowError):
        return None
