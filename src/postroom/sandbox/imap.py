"""The sandbox's mailbox over IMAP4rev1, as far as reading mail takes, and IDLE: answers by e-mail can be tried."""

from __future__ import annotations

import asyncio
import base64
import email
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Final

from postroom.kernel.running.loop import Signal
from postroom.kernel.values.ids import to_datetime
from postroom.sandbox.ledger import FileShelf, SandboxLedger
from postroom.sandbox.mail import BANNER, PortServer
from postroom.sandbox.records import ReceivedMail, SandboxFile

# A mail that the person wrote, as the bytes in which a mail server keeps it.

AUTHSERV_ID: Final = "sandbox.example"
"""The name under which the sandbox says that it knows who wrote a mail."""


def _mail_bytes(mail: ReceivedMail, shelf: FileShelf) -> bytes:
    """What the person gave as a header of their own is written in its place; the rest a server adds."""
    at = to_datetime(mail.at_us)
    usual = {
        "Return-Path": f"<{mail.sender}>",
        "Authentication-Results": f"{AUTHSERV_ID}; dmarc=pass header.from={_domain(mail.sender)}",
        "Received": f"by {AUTHSERV_ID}; {format_datetime(at)}",
        "From": mail.sender,
        "To": ", ".join(mail.recipients),
        "Subject": mail.subject,
        "Date": format_datetime(at),
        "Message-ID": mail.message_id or "",
        "In-Reply-To": mail.in_reply_to or "",
        "References": mail.references or "",
        "MIME-Version": "1.0",
    }
    given = {name.lower() for name in mail.headers}
    head = [(name, value) for name, value in usual.items() if value and name.lower() not in given]
    head += [(name, value) for name, value in mail.headers.items() if value]
    held = [(one, content) for one in mail.files if (content := shelf.content(one.sha256))]
    body = _parts(mail.body, held) if held else _body(mail.body, is_whole="content-type" in given)
    return "".join(f"{name}: {_value(value)}\r\n" for name, value in head).encode("ascii", "replace") + body


def _parts(text: str, files: Iterable[tuple[SandboxFile, bytes]]) -> bytes:
    """The words first, then each file."""
    whole = EmailMessage()
    whole.set_content(text)
    for one, content in files:
        kind, _, more = one.media_type.partition("/")
        whole.add_attachment(content, maintype=kind, subtype=more or "octet-stream", filename=one.name)
    del whole["MIME-Version"]
    return whole.as_bytes(policy=SMTP)


def _body(text: str, *, is_whole: bool) -> bytes:
    """With a content type of their own the person writes all of it, parts and all."""
    lines = text.replace("\r\n", "\n").replace("\n", "\r\n") + "\r\n"
    if is_whole:
        return b"\r\n" + lines.encode()
    encoded = base64.encodebytes(lines.encode()).replace(b"\n", b"\r\n")
    head = b'Content-Type: text/plain; charset="utf-8"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
    return head + encoded


def _value(text: str) -> str:
    return text if text.isascii() else Header(text, "utf-8", maxlinelen=900).encode(linesep="\r\n")


def _domain(address: str) -> str:
    return address.rpartition("@")[2].strip("> ").lower()


# The sandbox's mailbox as IMAP sees it: what people wrote to one address, under numbers that never change.


class _ImapInbox:
    """A look at it: mails that come later are seen after `refresh`, which answers whether there are any."""

    def __init__(self, ledger: SandboxLedger, address: str) -> None:
        self._ledger = ledger
        self._address = address.lower()
        self._last = 0
        self.uids: list[int] = []
        self.refresh()

    @property
    def next_uid(self) -> int:
        return self._last + 1

    def refresh(self) -> bool:
        before = len(self.uids)
        for mail in self._ledger.shown(ReceivedMail, from_person=True, since=self._last):
            self._last = mail.number
            if self._is_here(mail):
                self.uids.append(mail.number)
        return len(self.uids) > before

    def mails(self, wanted: str = "1:*", *, by_uid: bool = False) -> Iterator[_InboxMail]:
        """Those of a set of numbers, as far as they were not cleared."""
        numbers = _numbers(wanted, self.highest(by_uid=by_uid))
        for place, uid in enumerate(self.uids, 1):
            mail = self._ledger.one(ReceivedMail, uid) if _is_in(uid if by_uid else place, numbers) else None
            if mail is not None:
                yield _InboxMail(place, uid, mail, self._ledger.files)

    def highest(self, *, by_uid: bool) -> int:
        return max([0, *self.uids]) if by_uid else len(self.uids)

    def _is_here(self, mail: ReceivedMail) -> bool:
        """To this address, with or without a tag; and what is written to no mailbox of the sandbox comes to all."""
        addresses = [one.lower().strip(" <>") for one in mail.recipients]
        at_home = [one for one in addresses if one.endswith(f"@{AUTHSERV_ID}")]
        return not at_home or any(_untagged(one) == self._address for one in at_home)


@dataclass(frozen=True, slots=True)
class _InboxMail:
    """One mail, and where it stands."""

    place: int
    uid: int
    mail: ReceivedMail
    files: FileShelf

    @property
    def raw(self) -> bytes:
        return _mail_bytes(self.mail, self.files)

    @property
    def day(self) -> date:
        return to_datetime(self.mail.at_us).date()

    def header(self, name: str) -> str:
        return "\n".join(email.message_from_bytes(self.raw).get_all(name, []))


def _untagged(address: str) -> str:
    box, _, domain = address.rpartition("@")
    return f"{box.partition('+')[0]}@{domain}"


# The arguments of a command: words, quoted strings, lists and sets of numbers.

_WORD: Final = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<paren>[()])|(?P<atom>[^\s()"]+)')


class _BadCommand(Exception):
    """What the client is answered with BAD."""


def words(text: str) -> list[str]:
    """Quoted strings without their quotes; parentheses as words of their own."""
    found, at = [], 0
    for one in _WORD.finditer(text):
        if text[at : one.start()].strip():
            raise _BadCommand("malformed arguments")
        at = one.end()
        quoted = one["quoted"]
        found.append(one[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
    return found


def _numbers(text: str, highest: int) -> list[range]:
    """`1,3:5,8:*`, as ranges."""
    ranges = []
    for part in text.split(","):
        ends = [highest if end == "*" else int(end) for end in part.split(":") if end == "*" or end.isdecimal()]
        if len(ends) != part.count(":") + 1 or len(ends) > 2:
            raise _BadCommand("malformed set of numbers")
        ranges.append(range(min(ends), max(ends) + 1))
    return ranges


def _is_in(number: int, ranges: list[range]) -> bool:
    return any(number in one for one in ranges)


# IMAP's search keys, as a question that is put to each mail.

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ALWAYS: Final = frozenset({"ALL", "UNSEEN", "UNANSWERED", "UNDELETED", "UNFLAGGED", "UNDRAFT", "OLD", "NEW", "RECENT"})
_NEVER: Final = frozenset({"SEEN", "ANSWERED", "DELETED", "FLAGGED", "DRAFT"})
_DEEPEST: Final = 20


_Key = Callable[[_InboxMail], bool]


class _Search:
    """Reads keys from the front of the words; all of them have to hold."""

    def __init__(self, given: list[str], inbox: _ImapInbox) -> None:
        self._words = given[2:] if [one.upper() for one in given[:1]] == ["CHARSET"] else list(given)
        self._inbox = inbox

    def every(self) -> _Key:
        keys = []
        while self._words:
            keys.append(self._key(0))
        if not keys:
            raise _BadCommand("search for what?")
        return lambda sought: all(key(sought) for key in keys)

    def _next(self) -> str:
        if not self._words:
            raise _BadCommand("an argument is missing")
        return self._words.pop(0)

    def _key(self, depth: int) -> _Key:
        if depth > _DEEPEST:
            raise _BadCommand("too deep")
        word = self._next()
        match word.upper():
            case "(":
                return self._group(depth)
            case "NOT":
                inner = self._key(depth + 1)
                return lambda sought: not inner(sought)
            case "OR":
                one, other = self._key(depth + 1), self._key(depth + 1)
                return lambda sought: one(sought) or other(sought)
            case name if name in _ALWAYS | _NEVER:
                return lambda _sought: name in _ALWAYS
            case name:
                return self._plain(name, word)

    def _group(self, depth: int) -> _Key:
        keys = []
        while self._words[:1] != [")"]:
            keys.append(self._key(depth + 1))
        self._next()
        return lambda sought: all(key(sought) for key in keys)

    def _plain(self, name: str, word: str) -> _Key:
        match name:
            case "UID":
                uids = _numbers(self._next(), self._inbox.highest(by_uid=True))
                return lambda sought: _is_in(sought.uid, uids)
            case "HEADER":
                field, value = self._next(), self._next()
                return lambda sought: value.lower() in sought.header(field).lower()
            case "FROM" | "TO" | "SUBJECT" | "CC":
                value = self._next()
                return lambda sought: value.lower() in sought.header(name).lower()
            case "BODY" | "TEXT":
                value = self._next()
                return lambda sought: value.lower() in sought.mail.body.lower()
            case "SINCE" | "BEFORE" | "ON":
                return _by_day(name, _date(self._next()))
        places = _numbers(word, self._inbox.highest(by_uid=False))
        return lambda sought: _is_in(sought.place, places)


def _by_day(name: str, wanted: date) -> _Key:
    if name == "SINCE":
        return lambda sought: sought.day >= wanted
    return lambda sought: sought.day < wanted if name == "BEFORE" else sought.day == wanted


def _date(text: str) -> date:
    try:
        day, month, year = text.split("-")
        return date(int(year), _MONTHS.index(month.title()) + 1, int(day))
    except ValueError:
        raise _BadCommand("malformed date") from None


# What a client wants of a mail, and the answer in IMAP's form.

_ITEM: Final = re.compile(r"BODY(?:\.PEEK)?\[[^\]]*\](?:<\d+\.\d+>)?|[A-Z0-9.]+", re.IGNORECASE)
_BODY: Final = re.compile(r"BODY(?:\.PEEK)?\[(?P<section>[^\]]*)\](?:<(?P<start>\d+)\.(?P<count>\d+)>)?", re.IGNORECASE)
_FIELDS: Final = re.compile(r"HEADER\.FIELDS(?P<but>\.NOT)? \((?P<names>[^)]*)\)", re.IGNORECASE)
_WHOLE: Final = {"RFC822": "", "RFC822.HEADER": "HEADER", "RFC822.TEXT": "TEXT"}
_MACROS: Final = {"ALL": "FLAGS INTERNALDATE RFC822.SIZE", "FAST": "FLAGS INTERNALDATE RFC822.SIZE"}


def _wanted_items(text: str) -> list[str]:
    plain = text.strip().removeprefix("(").removesuffix(")")
    items = [one.upper() for one in _ITEM.findall(_MACROS.get(plain.upper(), plain))]
    if not items:
        raise _BadCommand("fetch what?")
    return items


def _fetched(found: _InboxMail, items: list[str]) -> bytes:
    """The list between the parentheses."""
    raw = found.raw
    return b" ".join(_item(found, raw, item) for item in dict.fromkeys(items))


def _item(found: _InboxMail, raw: bytes, item: str) -> bytes:
    match item:
        case "UID":
            return b"UID %d" % found.uid
        case "FLAGS":
            return b"FLAGS ()"
        case "RFC822.SIZE":
            return b"RFC822.SIZE %d" % len(raw)
        case "INTERNALDATE":
            at = to_datetime(found.mail.at_us)
            return f'INTERNALDATE "{at.day:2}-{_MONTHS[at.month - 1]}-{at.year} {at:%H:%M:%S} +0000"'.encode()
    if item in _WHOLE:
        return _literal(item, _section(raw, _WHOLE[item]))
    if asked := _BODY.fullmatch(item):
        part = _section(raw, asked["section"])
        if asked["start"] is None:
            return _literal(f"BODY[{asked['section']}]", part)
        start = int(asked["start"])
        return _literal(f"BODY[{asked['section']}]<{start}>", part[start : start + int(asked["count"])])
    raise _BadCommand(f"{item} cannot be fetched here")


def _section(raw: bytes, name: str) -> bytes:
    head, gap, text = raw.partition(b"\r\n\r\n")
    if fields := _FIELDS.fullmatch(name):
        wanted = fields["names"].lower().split()
        lines = [line for line in head.split(b"\r\n") if _is_named(line, wanted) != bool(fields["but"])]
        return b"".join(line + b"\r\n" for line in lines) + b"\r\n"
    match name:
        case "":
            return raw
        case "HEADER":
            return head + gap
        case "TEXT" | "1":
            return text
    raise _BadCommand(f"there is no section {name}")


def _is_named(line: bytes, names: list[str]) -> bool:
    return line.partition(b":")[0].decode("ascii", "replace").lower() in names


def _literal(name: str, content: bytes) -> bytes:
    return f"{name} {{{len(content)}}}\r\n".encode() + content


# One client of the server.

_LONGEST_LINE: Final = 65_536
_IDLE_SECONDS: Final = 1_800.0
_ABILITIES: Final = "IMAP4rev1 IDLE LITERAL+ UNSELECT"
_LITERAL: Final = re.compile(rb"\{(\d{1,6})(\+?)\}\r?\n\Z")
_ANYTIME: Final = frozenset({"CAPABILITY", "NOOP", "LOGOUT", "LOGIN", "ID"})


class _Left(Exception):
    """The client has said goodbye, or is gone."""


class _ImapConnection:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ledger: SandboxLedger, news: Signal
    ) -> None:
        self._reader, self._writer = reader, writer
        self._ledger, self._news = ledger, news
        self._user: str | None = None
        self._inbox: _ImapInbox | None = None

    async def serve(self) -> None:
        self._say(f"* OK [CAPABILITY {_ABILITIES}] {BANNER}")
        try:
            while True:
                tag, name, arguments = _split(await self._line())
                await self._answer(tag, name, arguments)
        except (_Left, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            self._writer.close()

    async def _line(self) -> str:
        """A literal becomes a quoted string in its place."""
        line = b""
        async with asyncio.timeout(_IDLE_SECONDS):
            while True:
                line += await self._reader.readuntil(b"\n")
                announced = _LITERAL.search(line)
                if announced is None or len(line) > _LONGEST_LINE:
                    return line.decode("utf-8", "replace").rstrip("\r\n")
                if not announced[2]:
                    self._say("+ go on")
                content = (await self._reader.readexactly(int(announced[1]))).decode("utf-8", "replace")
                line = line[: announced.start()] + _quoted(content).encode()

    async def _answer(self, tag: str, name: str, arguments: str) -> None:
        try:
            await self._do(tag, name, arguments)
        except _BadCommand as error:
            self._say(f"{tag} BAD {error}")
        await self._writer.drain()

    async def _do(self, tag: str, name: str, arguments: str) -> None:
        if self._user is None and name not in _ANYTIME:
            raise _BadCommand("log in first")
        match name:
            case "CAPABILITY":
                self._say(f"* CAPABILITY {_ABILITIES}")
            case "NOOP" | "CHECK":
                self._tell_of_more()
            case "ID":
                self._say("* ID NIL")
            case "LOGOUT":
                self._say("* BYE until next time")
                self._say(f"{tag} OK LOGOUT")
                await self._writer.drain()
                raise _Left
            case "LOGIN":
                self._log_in(arguments)
            case "LIST" | "LSUB":
                self._say(f'* {name} (\\HasNoChildren) "/" INBOX')
            case "SELECT" | "EXAMINE":
                self._select(tag, name, arguments)
                return
            case "CLOSE" | "UNSELECT":
                self._inbox = None
            case _:
                await self._do_in_mailbox(tag, name, arguments)
        self._say(f"{tag} OK {name} done")

    async def _do_in_mailbox(self, tag: str, name: str, arguments: str) -> None:
        if self._inbox is None:
            raise _BadCommand("unknown command, or no mailbox is open")
        by_uid = name == "UID"
        if by_uid:
            name, _, arguments = arguments.strip().partition(" ")
        match name.upper():
            case "SEARCH":
                self._search(self._inbox, words(arguments), by_uid=by_uid)
            case "FETCH":
                self._fetch(self._inbox, arguments, by_uid=by_uid)
            case "IDLE":
                await self._idle()
            case _:
                raise _BadCommand("this mailbox is only read, and this command is unknown")

    def _log_in(self, arguments: str) -> None:
        """Any name and password will do; the name says whose mailbox it is."""
        given = words(arguments)
        if len(given) != 2:
            raise _BadCommand("LOGIN takes a name and a password")
        self._user = given[0]

    def _select(self, tag: str, name: str, arguments: str) -> None:
        if [one.upper() for one in words(arguments)[:1]] != ["INBOX"]:
            self._say(f"{tag} NO [NONEXISTENT] there is INBOX and no other")
            return
        self._inbox = inbox = _ImapInbox(self._ledger, self._user or "")
        self._say("* FLAGS ()")
        self._say("* OK [PERMANENTFLAGS ()] nothing can be marked")
        self._say(f"* {len(inbox.uids)} EXISTS")
        self._say("* 0 RECENT")
        self._say(f"* OK [UIDVALIDITY {self._ledger.validity()}] numbers are good")
        self._say(f"* OK [UIDNEXT {inbox.next_uid}] the next number, or a later one")
        self._say(f"{tag} OK [READ-ONLY] {name} done")

    def _search(self, inbox: _ImapInbox, given: list[str], *, by_uid: bool) -> None:
        self._tell_of_more()
        key = _Search(given, inbox).every()
        found = [str(one.uid if by_uid else one.place) for one in inbox.mails() if key(one)]
        self._say(" ".join(["* SEARCH", *found]))

    def _fetch(self, inbox: _ImapInbox, arguments: str, *, by_uid: bool) -> None:
        which, _, what = arguments.strip().partition(" ")
        items = ["UID", *_wanted_items(what)] if by_uid else _wanted_items(what)
        for one in inbox.mails(which, by_uid=by_uid):
            self._writer.write(b"* %d FETCH (%s)\r\n" % (one.place, _fetched(one, items)))

    async def _idle(self) -> None:
        """Until the client says DONE."""
        self._say("+ idling")
        done = asyncio.ensure_future(self._line())
        try:
            while not done.done():
                news = self._news.news()
                self._tell_of_more()
                await self._writer.drain()
                ringing = asyncio.ensure_future(news.wait())
                await asyncio.wait([done, ringing], return_when=asyncio.FIRST_COMPLETED)
                ringing.cancel()
            if (await done).upper() != "DONE":
                raise _BadCommand("IDLE ends with DONE")
        finally:
            done.cancel()

    def _tell_of_more(self) -> None:
        if self._inbox is not None and self._inbox.refresh():
            self._say(f"* {len(self._inbox.uids)} EXISTS")

    def _say(self, line: str) -> None:
        self._writer.write(f"{line}\r\n".encode())


def _split(line: str) -> tuple[str, str, str]:
    tag, _, rest = line.strip().partition(" ")
    name, _, arguments = rest.strip().partition(" ")
    return tag or "*", name.upper(), arguments


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# The sandbox's IMAP server: the mailbox in which what people write arrives.


class ImapServer(PortServer):
    def __init__(self, ledger: SandboxLedger, news: Signal) -> None:
        super().__init__()
        self._ledger = ledger
        self._news = news

    async def listen(self, **where: Any) -> asyncio.Server:
        return await asyncio.start_server(self._accept, limit=_LONGEST_LINE, **where)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the server calls this in one
        self.talking[task] = task.cancel
        try:
            await _ImapConnection(reader, writer, self._ledger, self._news).serve()
        except asyncio.CancelledError:
            writer.transport.abort()  # the sandbox stops; the server's own task has nothing to say about it
        finally:
            del self.talking[task]
