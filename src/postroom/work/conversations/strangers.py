"""What people hear who write to us and cannot be helped: one polite sentence a day, as a reply where they wrote."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from postroom.domain.delivery import Priority
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.outgoing import Outgoing
from postroom.domain.said_back import said_back
from postroom.work.conversations.texts import ENGLISH

SENTENCE: Final = ENGLISH.stranger


def once_a_day(message: InboundMessage, words: str, day: str) -> Outgoing:
    """Sent to a place once a day: the key of a second one is taken, and nothing is sent."""
    key = f"unhandled:{message.channel}:{message.places[0]}:{day}"
    answer = said_back(message, words, key=key, request_id=request_id_of(message))
    return replace(answer, priority=Priority.LOW)


def request_id_of(message: InboundMessage) -> str:
    return f"{message.channel}-update-{message.number}"
