"""What a mail server says about a mail of ours that it could not deliver (RFC 3464)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from typing import Final

from postroom.domain.inbound_message import NewsKind
from postroom.world.channels.mail_listening.headers import header, headers
from postroom.world.channels.mail_listening.parts import MOST_PARTS, text_of

_KINDS: Final = {"failed": NewsKind.BOUNCED, "delayed": NewsKind.DELAYED}
_STATUS: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")
_MEANING: Final = {
    "5.1.1": "there is no such address",
    "5.1.2": "there is no such mail domain",
    "5.1.3": "the address is malformed",
    "5.1.6": "the mailbox has moved",
    "5.1.10": "the address takes no mail",
    "5.2.1": "the mailbox is disabled",
    "5.2.2": "the mailbox is full",
    "5.2.3": "the mail is too long for the mailbox",
    "5.4.1": "no server takes mail for the address",
    "5.7.1": "the mail was refused by a rule of the recipient's server",
}
_MESSAGE_ID: Final = re.compile(r"^Message-ID:[ \t]*(?:\r?\n[ \t]+)?(<[^<>\s]{3,400}>)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce:
    """`about` are the ids of the mail that may be meant, the most certain first."""

    kind: NewsKind
    about: list[str]
    words: str = field(repr=False)


def bounce_in(message: Message) -> Bounce | None:
    """None when it is no report, or one of success."""
    if message.get_content_type() != "multipart/report" or not message.is_multipart():
        return None
    parts = _parts(message)
    kinds = [(kind, one) for one in _recipients(parts) if (kind := _KINDS.get(header(one, "Action").lower()))]
    if not kinds:
        return None
    kind, recipient = min(kinds, key=lambda found: found[0] is not NewsKind.BOUNCED)
    about = [*_originals(parts), *headers(message, "In-Reply-To"), *headers(message, "References")]
    return Bounce(kind=kind, about=about, words=_words(recipient))


def _parts(message: Message) -> list[Message]:
    inside = message.get_payload() if message.is_multipart() else None
    return [one for one in inside if isinstance(one, Message)][:MOST_PARTS] if isinstance(inside, list) else []


def _recipients(parts: list[Message]) -> Iterator[Message]:
    for part in parts:
        if part.get_content_type() in ("message/delivery-status", "message/global-delivery-status"):
            yield from _parts(part)


def _originals(parts: list[Message]) -> Iterator[str]:
    """The mail itself or its headers, whole or cut."""
    for part in parts:
        if part.get_content_type() in ("message/rfc822", "message/global"):
            yield from (header(one, "Message-ID") for one in _parts(part))
        elif part.get_content_type() in ("text/rfc822-headers", "message/global-headers"):
            yield from _MESSAGE_ID.findall(text_of(part))


def _words(recipient: Message) -> str:
    found = _STATUS.search(header(recipient, "Status"))
    status = found[0] if found else ""
    said = header(recipient, "Diagnostic-Code").partition(";")[2].strip()
    meaning = _MEANING.get(status, "the mail could not be delivered" if status[:1] != "4" else "not delivered yet")
    return f"{meaning}{f' ({status})' if status else ''}{f': {said}' if said else ''}"
