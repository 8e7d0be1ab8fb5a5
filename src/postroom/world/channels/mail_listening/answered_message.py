"""
The ids of our mails, and which of our messages a mail is about: by the ids it names, or by the address it was sent to.

On its way a mail is `<delivery id.mark@domain>`. The mark is made with the household's key and told to no program that
sends: who shows it has seen the mail itself, or is a server that had it.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from typing import Final

from postroom.domain.ids import DeliveryId
from postroom.world.channels.mail_listening.headers import headers
from postroom.world.channels.mailbox import domain_of

_ID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MARK: Final = r"[0-9a-f]{20}"
_NAMED: Final = re.compile(r"<([^<>\s]{3,400})>")
_TO: Final = ("To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To")


@dataclass(frozen=True, slots=True)
class OwnMessages:
    """Those that left from this address. Without a key none is marked, and no report of a mail server is believed."""

    address: str
    key: bytes | None = field(default=None, repr=False)

    def message_id(self, delivery_id: str) -> str:
        """As senders are told it."""
        return f"<{delivery_id}@{domain_of(self.address)}>"

    def marked_id(self, delivery_id: str) -> str:
        """As it stands in the mail, the same on every attempt."""
        name = delivery_id if self.key is None else f"{delivery_id}.{self._mark(delivery_id, self.key)}"
        return f"<{name}@{domain_of(self.address)}>"

    def thread(self, thread: str | None) -> str | None:
        """A mail of ours that is followed up, as it stands in the readers' mailboxes."""
        found = self.named_in([thread]) if thread else None
        return thread if found is None else self.marked_id(found)

    def reply_address(self, delivery_id: str) -> str:
        box, _, domain = self.address.rpartition("@")
        return f"{box.partition('+')[0]}+{delivery_id}@{domain}"

    def answered_by(self, message: Message) -> DeliveryId | None:
        """The tag of the address says it best, then the nearest mail that is referred to."""
        return next(self._tagged(message), None) or self.named_in(
            [*headers(message, "In-Reply-To"), *reversed(_NAMED.findall(" ".join(headers(message, "References"))))]
        )

    def named_in(self, values: list[str]) -> DeliveryId | None:
        return next((found for found, _ in self._ids(values)), None)

    def proved_by(self, values: list[str]) -> DeliveryId | None:
        """The mail that is named with its mark."""
        for found, mark in self._ids(values):
            if self.key is not None and hmac.compare_digest(mark, self._mark(found, self.key)):
                return found
        return None

    def _ids(self, values: list[str]) -> Iterator[tuple[DeliveryId, str]]:
        own = re.compile(rf"<?({_ID})(?:\.({_MARK}))?@{re.escape(domain_of(self.address))}>?", re.IGNORECASE)
        for value in values:
            for word in value.split():
                if one := own.fullmatch(word):
                    yield DeliveryId(one[1].lower()), (one[2] or "").lower()

    @staticmethod
    def _mark(delivery_id: str, key: bytes) -> str:
        return hmac.digest(key, delivery_id.encode(), "sha256").hex()[:20]

    def _tagged(self, message: Message) -> Iterator[DeliveryId]:
        box, _, domain = self.address.rpartition("@")
        tagged = re.compile(
            rf"{re.escape(box.partition('+')[0])}\+({_ID})@{re.escape(domain)}(?![\w.-])", re.IGNORECASE
        )
        for name in _TO:
            for value in headers(message, name):
                if found := tagged.search(value):
                    yield DeliveryId(found[1].lower())
