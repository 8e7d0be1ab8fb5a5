"""The answer to a letter carries the letter's subject."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from postroom.domain.delivery import Intent
from postroom.domain.ledger import NewDelivery
from postroom.domain.ports import Channel


class Letters(Protocol):
    async def subject(self, channel: str, address: str, message_id: str) -> str | None:
        """Of a letter that came from this very address."""
        ...


async def titled(new: NewDelivery, channel: Channel, letters: Letters | None) -> NewDelivery:
    """Its own subject stays; that is no part of what tells two messages apart."""
    is_answer = new.intent is Intent.REPLY and new.thread is not None and not (new.subject or "").strip()
    if letters is None or not is_answer or channel.capabilities.style != "letter" or new.thread is None:
        return new
    subject = await letters.subject(new.channel, new.address, new.thread)
    return replace(new, subject=subject) if subject else new
