"""One client of the sandbox's IMAP server: IMAP4rev1 as far as reading mail takes, and IDLE."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from postroom.programs.sandbox.email_ledger import EmailLedger
from postroom.programs.sandbox.imap.arguments import BadCommand, is_in, numbers, words
from postroom.programs.sandbox.imap.fetch import fetched, wanted_items
from postroom.programs.sandbox.imap.inbox import ImapInbox
from postroom.programs.sandbox.imap.search import Search, Sought
from postroom.programs.sandbox.smtp import BANNER
from postroom.system.signal import Signal

LONGEST_LINE: Final = 65_536
_IDLE_SECONDS: Final = 1_800.0
_ABILITIES: Final = "IMAP4rev1 IDLE LITERAL+ UNSELECT"
_LITERAL: Final = re.compile(rb"\{(\d{1,6})(\+?)\}\r?\n\Z")
_ANYTIME: Final = frozenset({"CAPABILITY", "NOOP", "LOGOUT", "LOGIN", "ID"})


class Left(Exception):
    """The client has said goodbye, or is gone."""


class ImapConnection:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ledger: EmailLedger, news: Signal
    ) -> None:
        self._reader, self._writer = reader, writer
        self._ledger, self._news = ledger, news
        self._user: str | None = None
        self._inbox: ImapInbox | None = None

    async def serve(self) -> None:
        self._say(f"* OK [CAPABILITY {_ABILITIES}] {BANNER}")
        try:
            while True:
                tag, name, arguments = _split(await self._line())
                await self._answer(tag, name, arguments)
        except (Left, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
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
                if announced is None or len(line) > LONGEST_LINE:
                    return line.decode("utf-8", "replace").rstrip("\r\n")
                if not announced[2]:
                    self._say("+ go on")
                content = (await self._reader.readexactly(int(announced[1]))).decode("utf-8", "replace")
                line = line[: announced.start()] + _quoted(content).encode()

    async def _answer(self, tag: str, name: str, arguments: str) -> None:
        try:
            await self._do(tag, name, arguments)
        except BadCommand as error:
            self._say(f"{tag} BAD {error}")
        await self._writer.drain()

    async def _do(self, tag: str, name: str, arguments: str) -> None:
        if self._user is None and name not in _ANYTIME:
            raise BadCommand("log in first")
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
                raise Left
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
            raise BadCommand("unknown command, or no mailbox is open")
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
                raise BadCommand("this mailbox is only read, and this command is unknown")

    def _log_in(self, arguments: str) -> None:
        """Any name and password will do; the name says whose mailbox it is."""
        given = words(arguments)
        if len(given) != 2:
            raise BadCommand("LOGIN takes a name and a password")
        self._user = given[0]

    def _select(self, tag: str, name: str, arguments: str) -> None:
        if [one.upper() for one in words(arguments)[:1]] != ["INBOX"]:
            self._say(f"{tag} NO [NONEXISTENT] there is INBOX and no other")
            return
        self._inbox = inbox = ImapInbox(self._ledger, self._user or "")
        self._say("* FLAGS ()")
        self._say("* OK [PERMANENTFLAGS ()] nothing can be marked")
        self._say(f"* {len(inbox.uids)} EXISTS")
        self._say("* 0 RECENT")
        self._say(f"* OK [UIDVALIDITY {inbox.validity}] numbers are good")
        self._say(f"* OK [UIDNEXT {inbox.next_uid}] the next number, or a later one")
        self._say(f"{tag} OK [READ-ONLY] {name} done")

    def _search(self, inbox: ImapInbox, given: list[str], *, by_uid: bool) -> None:
        self._tell_of_more()
        key = Search(given, highest=len(inbox.uids), highest_uid=max([0, *inbox.uids])).every()
        found = []
        for number, uid in enumerate(inbox.uids, 1):
            kept = inbox.mail(uid)
            if kept is not None and key(Sought(number, uid, kept)):
                found.append(str(uid if by_uid else number))
        self._say(" ".join(["* SEARCH", *found]))

    def _fetch(self, inbox: ImapInbox, arguments: str, *, by_uid: bool) -> None:
        which, _, what = arguments.strip().partition(" ")
        items = ["UID", *wanted_items(what)] if by_uid else wanted_items(what)
        wanted = numbers(which, max([0, *inbox.uids]) if by_uid else len(inbox.uids))
        for number, uid in enumerate(inbox.uids, 1):
            kept = inbox.mail(uid) if is_in(uid if by_uid else number, wanted) else None
            if kept is not None:
                self._writer.write(b"* %d FETCH (%s)\r\n" % (number, fetched(kept, items)))

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
                raise BadCommand("IDLE ends with DONE")
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
