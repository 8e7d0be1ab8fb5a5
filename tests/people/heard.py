"""What a person writes to the bot, and what the bot says back, kept to be looked at."""

from __future__ import annotations

from typing import Any

from postroom.message.inbound import InboundMessage
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing


class SaidBack:
    """The way out as a list."""

    def __init__(self) -> None:
        self.messages: list[Outgoing] = []

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        self.messages.append(outgoing)
        return Outcome(status=AnswerStatus.ACCEPTED, request_id=request_id)

    @property
    def words(self) -> list[str]:
        return [one.message for one in self.messages]


def written(text: str | None, **more: Any) -> InboundMessage:
    """By the person 2000, alone with the bot."""
    given = {"channel": "telegram", "number": 7, "message_id": "7", "places": ("2000",), "sender": "2000"}
    return InboundMessage(**{**given, "text": text, "alone": True, **more})
