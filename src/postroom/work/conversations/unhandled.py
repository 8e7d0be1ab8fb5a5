"""What people write to us and no part of the household takes: one honest sentence, and a line in the log."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import structlog

from postroom.domain.delivery import Priority
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Clock, Outbound
from postroom.domain.said_back import said_back
from postroom.domain.time import to_text
from postroom.work.conversations.inbound import Handler, of_messages

SENTENCE: Final = (
    "What you wrote has not been read: this bot only delivers messages. "
    "To answer a question, reply to the message that asked it."
)
_log = structlog.get_logger("postroom.inbound")


def unhandled_handler(outbound: Outbound, clock: Clock) -> Handler:
    """Stands after all others. In a group people talk to each other, and bots never stop: neither is answered."""

    async def handle(message: InboundMessage) -> bool:
        _log.info("inbound.unhandled", source=message.channel, update_id=message.number)
        if message.alone:
            answer = sentence_for(message, to_text(clock.now_us())[:10])
            await outbound.submit(answer, request_id=_request_id(message), wait_seconds=0)
        return True

    return of_messages(handle)


def sentence_for(message: InboundMessage, day: str) -> Outgoing:
    """Sent to a chat once a day: the key of a second one is taken, and nothing is sent."""
    key = f"unhandled:{message.channel}:{message.places[0]}:{day}"
    answer = said_back(message, SENTENCE, key=key, request_id=_request_id(message))
    return replace(answer, priority=Priority.LOW)


def _request_id(message: InboundMessage) -> str:
    return f"{message.channel}-update-{message.number}"
