"""Which message of ours a mail is about: by the ids it names, or by the address it was sent to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Final

from postroom.domain.ids import DeliveryId
from postroom.world.channels.mail_listening.headers import headers
from postroom.world.channels.mailbox import domain_of

_ID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED: Final = re.compile(r"<([^<>\s]{3,400})>")
_TO: Final = ("To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To")


@dataclass(frozen=True, slots=True)
class OwnMessages:
    """Those that left from this address; each is `<delivery id@domain>`."""

    address: str

    def message_id(self, delivery_id: str) -> str:
        return f"<{delivery_id}@{domain_of(self.address)}>"

    def reply_address(self, delivery_id: str) -> str:
        box, _, domain = self.address.rpartition("@")
        return f"{box.partition('+')[0]}+{delivery_id}@{domain}"

    def answered_by(self, message: Message) -> DeliveryId | None:
        """The tag of the address says it best, then the nearest mail that is referred to."""
        return next(self._tagged(message), None) or self.named_in(
            [*headers(message, "In-Reply-To"), *reversed(_NAMED.findall(" ".join(headers(message, "References"))))]
        )

    def named_in(self, values: list[str]) -> DeliveryId | None:
        own = re.compile(rf"<?({_ID})@{re.escape(domain_of(self.address))}>?", re.IGNORECASE)
        found = (own.fullmatch(word) for value in values for word in value.split())
        return next((DeliveryId(one[1].lower()) for one in found if one), None)

    def _tagged(self, message: Message) -> Iterator[DeliveryId]:
        box, _, domain = self.address.rpartition("@")
        tagged = re.compile(
            rf"{re.escape(box.partition('+')[0])}\+({_ID})@{re.escape(domain)}(?![\w.-])", re.IGNORECASE
        )
        for name in _TO:
            for value in headers(message, name):
                if found := tagged.search(value):
                    yield DeliveryId(found[1].lower())
