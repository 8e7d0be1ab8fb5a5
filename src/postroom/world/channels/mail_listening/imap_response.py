"""What an IMAP server says, line by line, with the bytes it announces in between; bounded."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Final

LONGEST_LINE: Final = 2 * 1_048_576  # a search may name a hundred thousand mails
MOST_BYTES: Final = 50 * 1_048_576
_MOST_LITERALS: Final = 50
_LITERAL: Final = re.compile(rb"\{(\d{1,10})\+?\}\r\n\Z")


class NotImap(Exception):
    """The server says what no mail server says, or more than we take."""


@dataclass(frozen=True, slots=True)
class ImapResponse:
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


async def read_response(reader: asyncio.StreamReader) -> ImapResponse:
    """Raises NotImap, EOFError or OSError; the caller sets the time limit."""
    pieces = [await _line(reader)]
    literals: list[bytes] = []
    while announced := _LITERAL.search(pieces[-1]):
        wanted = int(announced[1])
        if wanted + sum(map(len, literals)) > MOST_BYTES or len(literals) >= _MOST_LITERALS:
            raise NotImap("more bytes than were asked for")
        literals.append(await reader.readexactly(wanted))
        pieces[-1] = pieces[-1].removesuffix(b"\r\n")
        pieces.append(await _line(reader))
    return ImapResponse(b"".join(pieces).decode("utf-8", "replace").rstrip("\r\n"), tuple(literals))


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError:
        raise NotImap("a line without an end") from None
