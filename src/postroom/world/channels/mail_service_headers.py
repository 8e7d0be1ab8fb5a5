"""Headers for those between us and the reader: services that drop copies, and programs that offer to end our mail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from postroom.domain.delivery import Message, Priority
from postroom.domain.errors import ValidationError

KEY_HEADERS: Final = ("Resend-Idempotency-Key", "X-EE-Idempotency-Key")
"""By which Resend (24 hours) and EmailEngine know a second copy of the same mail; no one else minds them."""
SUBJECT: Final = "unsubscribe"
_IMPORTANCE: Final = {Priority.HIGH: "high", Priority.LOW: "low"}
_LINK: Final = re.compile(r"https://[!-;=?-~]{1,900}")


def service_headers(message: Message, mailbox: str | None) -> Iterator[str]:
    """`mailbox` is where a mail that asks to end is read; None: nowhere."""
    yield from (f"{name}: {message.delivery_id}" for name in KEY_HEADERS)
    if importance := _IMPORTANCE.get(message.priority):
        yield f"Importance: {importance}"
    if message.markup is not None and message.markup.unsubscribe is not None:
        yield from _unsubscribe(message.markup.unsubscribe, mailbox, message.delivery_id)


def _unsubscribe(link: str, mailbox: str | None, delivery_id: str) -> Iterator[str]:
    """One click (RFC 8058) needs a link over https; without either way there is nothing to promise."""
    if link and not _LINK.fullmatch(link):
        raise ValidationError("a link to unsubscribe must be an https address")
    ways = [f"<{link}>"] if link else []
    if mailbox is not None:
        ways.append(f"<mailto:{quote(mailbox, safe='@')}?subject={SUBJECT}%20{quote(delivery_id)}>")
    if ways:
        yield "List-Unsubscribe: " + ",\r\n ".join(ways)
    if link:
        yield "List-Unsubscribe-Post: List-Unsubscribe=One-Click"
