# /// script
# dependencies = ["postroom"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
A channel of your own: messages to beepers, over the gateway of a small paging company.

    [channels.beeper]
    factory = "beeper_channel:Beeper"
    options = { url = "https://beepers.example.org" }
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from postroom.channels.http_call import HttpAnswer, HttpCall
from postroom.channels.retry_after import wait_seconds
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.fields import text_problem
from postroom.message.channel import Capabilities
from postroom.message.delivery import Intent, Message, Receipt

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MOST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Call:
    beeper: str
    text: str = field(repr=False)  # what people write has no place in a log


def build(message: Message) -> Call:
    """Before anything is sent: what can never succeed is refused here."""
    if message.intent is not Intent.SEND:
        raise ValidationError("a beeper can only be written to: it knows neither replies nor reactions")
    if message.revises is not None:
        raise ValidationError("what was sent to a beeper cannot be edited")
    if not NAME.fullmatch(message.address):
        raise ValidationError("recipient is not the name of a beeper")
    if not message.text.strip():
        raise ValidationError("message must not be blank")
    if problem := text_problem(message.text):
        raise ValidationError(f"message {problem}")
    if len(message.text.encode()) > MOST_BYTES:
        raise ValidationError("message is longer than a beeper shows")
    return Call(message.address, message.text)


def read(answer: HttpAnswer) -> Receipt:
    """Every answer means one thing: delivered, refused for good, refused for now, or nobody knows."""
    if not 200 <= answer.status < 300:
        raise refusal(answer)
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("page"), str):
        raise OutcomeUncertain("the gateway accepted the message and named none")
    return Receipt(told["page"])


def refusal(answer: HttpAnswer) -> PostroomError:
    """The server's own words are left out: they may quote the message."""
    said = f"the gateway answered {answer.status}"
    match answer.status:
        case 429:
            return ProviderThrottled(
                said, retry_after_seconds=wait_seconds(None, answer.retry_after, datetime.now(UTC))
            )
        case 401:
            return TargetUnavailable(said)  # our credentials are wrong, not the message
        case status if 400 <= status < 500:
            return ValidationError(said)
        case 500 | 502 | 504:
            return ProviderFailed(said)
        case _:
            return TargetUnavailable(said)


class Beeper:
    name = "beeper"
    capabilities = Capabilities(max_units=MOST_BYTES, unit="bytes")  # sends, and nothing else

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._http = HttpCall("the gateway")

    def address(self, text: str) -> str | None:
        return text if NAME.fullmatch(text) else None

    def prepare(self, message: Message) -> Sequence[Call]:
        return (build(message),)

    async def send(self, part: Call, timeout_seconds: float) -> Receipt:
        body = {"beeper": part.beeper, "text": part.text}
        return read(await self._http.post(f"{self._url}/pages", body, timeout_seconds))

    async def close(self) -> None:
        await self._http.close()
