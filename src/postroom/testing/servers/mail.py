"""A scriptable and strict SMTP server over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as default_policy

from postroom.testing.servers.http import FakeProvider, write_pieces

_REPLIES: Mapping[str, bytes] = {
    "CONNECT": b"220 mail.test ready",
    "EHLO": b"250-mail.test\r\n250 AUTH PLAIN",
    "AUTH": b"235 welcome",
    "NOOP": b"250 ok",
    "MAIL": b"250 ok",
    "RCPT": b"250 ok",
    "DATA": b"354 go ahead",
    "BODY": b"250 queued",
    "QUIT": b"221 bye",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailScript:
    """What differs from a server that accepts everything; steps are named after the client's verbs."""

    replies: Mapping[str, bytes] = field(default_factory=dict)
    reset_at: str | None = None
    close_at: str | None = None
    hang_at: str | None = None
    hold_at: str | None = None
    cut_at: str | None = None
    """Half of the answer, then the end of the connection."""
    piece_bytes: int = 0
    pause_seconds: float = 0.0
    """Its answer to the message in pieces, so long apart."""


@dataclass(slots=True, kw_only=True)
class TakenMail:
    sender: str
    recipients: list[str]
    content: bytes = b""

    def parsed(self) -> EmailMessage:
        return message_from_bytes(self.content, policy=default_policy)

    def header_names(self) -> list[str]:
        head = self.content.partition(b"\r\n\r\n")[0]
        return [line.split(b":")[0].decode("ascii") for line in head.split(b"\r\n") if line[:1] not in (b" ", b"\t")]


class MailServer(FakeProvider):
    """
    Takes CRLF for a line end and nothing else.

    A bare CR or LF is written down in `violations`, because a laxer server
    further on might see a line end (and the end of the message) there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scripts = [MailScript()]
        self.received: list[TakenMail] = []
        self.commands: list[str] = []
        self.violations: list[bytes] = []

    def behave(self, script: MailScript, *then: MailScript) -> None:
        self.scripts = [script, *then]

    @property
    def messages(self) -> list[TakenMail]:
        return self.received

    @property
    def script(self) -> MailScript:
        """Of the visit that goes on: one for each, and the last one for all that follow."""
        return self.scripts[min(self.connections, len(self.scripts)) - 1]

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        letter = TakenMail(sender="", recipients=[])
        if not await self._answer("CONNECT", writer):
            return
        while line := await self._line(reader):
            verb = line.split(b" ")[0].split(b":")[0].decode("ascii").upper()
            self.commands.append(verb)
            letter = self._note(letter, verb, line)
            if not await self._answer(verb, writer) or verb == "QUIT":
                return
            if verb == "DATA" and self._reply("DATA").startswith(b"354"):
                letter.content = await self._data(reader)
                self.received.append(letter)
                if not await self._answer("BODY", writer):
                    return

    def _note(self, letter: TakenMail, verb: str, line: bytes) -> TakenMail:
        argument = line.partition(b":")[2].decode("ascii")
        if verb == "MAIL":
            return TakenMail(sender=argument, recipients=[])
        if verb == "RCPT":
            letter.recipients.append(argument)
        return letter

    async def _answer(self, step: str, writer: asyncio.StreamWriter) -> bool:
        """Whether the conversation goes on."""
        if step in ("BODY", self.script.hang_at, self.script.hold_at):
            self.arrived.set()
        if step == self.script.hold_at:
            await self.release.wait()
        if step == self.script.reset_at:
            self.reset(writer)
            return False
        if step == self.script.close_at:
            return False
        if step == self.script.hang_at:
            await self.hang()
        return await self._write(step, self._reply(step) + b"\r\n", writer)

    async def _write(self, step: str, raw: bytes, writer: asyncio.StreamWriter) -> bool:
        script = self.script
        if step == script.cut_at:
            raw = raw[: len(raw) // 2]
        pieces = script.piece_bytes if step == "BODY" else 0
        await write_pieces(writer, raw, pieces or len(raw), script.pause_seconds)
        return step != script.cut_at

    def _reply(self, step: str) -> bytes:
        return self.script.replies.get(step, _REPLIES.get(step, b"502 unknown command"))

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        line = await reader.readuntil(b"\r\n")
        self._check(line[:-2])
        return line[:-2]

    async def _data(self, reader: asyncio.StreamReader) -> bytes:
        lines = []
        while (line := await self._line(reader)) != b".":
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(line + b"\r\n" for line in lines)

    def _check(self, line: bytes) -> None:
        if b"\r" in line or b"\n" in line:
            self.violations.append(line)
