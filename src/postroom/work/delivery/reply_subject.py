"""The answer to a letter carries the letter's subject."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from postroom.domain.ledger import NewDelivery
from postroom.domain.ports import Channel


class Letters(Protocol):
    async def subject(self, channel: str, address: str, message_id: str) -> str | None:
        """Of a letter that came from this very address."""
        ...


async def titled(new: NewDelivery, channel: Channel, letters: Letters | None) -> NewDelivery:
    """An answer with a subject of its own keeps it; that is no part of what tells two messages apart."""
    if letters is None or channel.capabilities.style != "letter" or new.thread is None or (new.subject or "").strip():
        return new
    subject = await letters.subject(new.channel, new.address, new.thread)
    return replace(new, subject=subject) if subject else new
