"""Who a mail says it is from: exactly one address, or no one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import Message
from typing import Final

from postroom.world.channels.mail_listening.headers import headers, shown
from postroom.world.channels.mailbox import mailbox

_FROM: Final = re.compile(
    r'(?P<name>(?:"(?:[^"\\]|\\.)*"|[^"<>,;:()\\])*)<(?P<one>[^<>\s]+)>(?:\s*\([^()]*\))?'
    r"|(?P<other>[^\s<>\"(),;:]+)(?:\s*\([^()]*\))?"
)


@dataclass(frozen=True, slots=True)
class MailSender:
    address: str
    name: str


def sender_of(message: Message) -> MailSender | None:
    """Several From headers, several addresses, or a group: that is no person, and no server could have proved it."""
    given = headers(message, "From")
    found = _FROM.fullmatch(given[0].strip()) if len(given) == 1 else None
    address = mailbox(found["one"] or found["other"]) if found else None
    if found is None or address is None:
        return None
    return MailSender(address, " ".join(shown(found["name"] or "").replace('"', " ").split()))
