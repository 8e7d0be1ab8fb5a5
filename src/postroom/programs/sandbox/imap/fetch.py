"""What a client wants of a mail, and the answer in IMAP's form."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from postroom.programs.sandbox.imap.arguments import BadCommand
from postroom.programs.sandbox.imap.mail_bytes import mail_bytes
from postroom.programs.sandbox.imap.search import MONTHS
from postroom.programs.sandbox.records import StoredMail

_ITEM: Final = re.compile(r"BODY(?:\.PEEK)?\[[^\]]*\](?:<\d+\.\d+>)?|[A-Z0-9.]+", re.IGNORECASE)
_BODY: Final = re.compile(r"BODY(?:\.PEEK)?\[(?P<section>[^\]]*)\](?:<(?P<start>\d+)\.(?P<count>\d+)>)?", re.IGNORECASE)
_FIELDS: Final = re.compile(r"HEADER\.FIELDS(?P<but>\.NOT)? \((?P<names>[^)]*)\)", re.IGNORECASE)
_WHOLE: Final = {"RFC822": "", "RFC822.HEADER": "HEADER", "RFC822.TEXT": "TEXT"}
_MACROS: Final = {"ALL": "FLAGS INTERNALDATE RFC822.SIZE", "FAST": "FLAGS INTERNALDATE RFC822.SIZE"}


def wanted_items(text: str) -> list[str]:
    plain = text.strip().removeprefix("(").removesuffix(")")
    items = [one.upper() for one in _ITEM.findall(_MACROS.get(plain.upper(), plain))]
    if not items:
        raise BadCommand("fetch what?")
    return items


def fetched(kept: StoredMail, items: list[str]) -> bytes:
    """The list between the parentheses."""
    raw = mail_bytes(kept)
    return b" ".join(_item(kept, raw, item) for item in dict.fromkeys(items))


def _item(kept: StoredMail, raw: bytes, item: str) -> bytes:
    match item:
        case "UID":
            return b"UID %d" % kept.email_id
        case "FLAGS":
            return b"FLAGS ()"
        case "RFC822.SIZE":
            return b"RFC822.SIZE %d" % len(raw)
        case "INTERNALDATE":
            return f'INTERNALDATE "{internal_date(kept.received_us)}"'.encode()
    if item in _WHOLE:
        return _literal(item, _section(raw, _WHOLE[item]))
    if found := _BODY.fullmatch(item):
        part = _section(raw, found["section"])
        if found["start"] is None:
            return _literal(f"BODY[{found['section']}]", part)
        start = int(found["start"])
        return _literal(f"BODY[{found['section']}]<{start}>", part[start : start + int(found["count"])])
    raise BadCommand(f"{item} cannot be fetched here")


def internal_date(at_us: int) -> str:
    at = datetime.fromtimestamp(at_us / 1_000_000, UTC)
    return f"{at.day:2}-{MONTHS[at.month - 1]}-{at.year} {at:%H:%M:%S} +0000"


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
    raise BadCommand(f"there is no section {name}")


def _is_named(line: bytes, names: list[str]) -> bool:
    return line.partition(b":")[0].decode("ascii", "replace").lower() in names


def _literal(name: str, content: bytes) -> bytes:
    return f"{name} {{{len(content)}}}\r\n".encode() + content
