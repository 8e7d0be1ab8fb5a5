"""Headers for those between us and the reader: services that drop copies, and programs that sort by importance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from postroom.domain.delivery import Message, Priority

KEY_HEADERS: Final = ("Resend-Idempotency-Key", "X-EE-Idempotency-Key")
"""By which Resend (24 hours) and EmailEngine know a second copy of the same mail; no one else minds them."""
_IMPORTANCE: Final = {Priority.HIGH: "high", Priority.LOW: "low"}
MARKED_HEADER: Final = "X-Postroom-Message"
"""Names a mail as its Message-ID does, for a relay may give it another one of those."""


def service_headers(message: Message, marked_id: str | None = None) -> Iterator[str]:
    yield from (f"{name}: {message.delivery_id}" for name in KEY_HEADERS)
    if marked_id is not None:
        yield f"{MARKED_HEADER}: {marked_id}"
    if importance := _IMPORTANCE.get(message.priority):
        yield f"Importance: {importance}"
