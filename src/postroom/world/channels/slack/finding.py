"""Ask Slack for the messages of a place: for one that may have arrived, and for what one says now."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from postroom.domain.delivery import Receipt
from postroom.domain.errors import DeliveryTimeout, TargetUnavailable, ValidationError
from postroom.world.channels.slack.address import is_message_id
from postroom.world.channels.slack.build import EVENT_TYPE
from postroom.world.channels.slack.call import SlackCall
from postroom.world.channels.slack.web_api import SlackWebApi

SKEW: Final = timedelta(minutes=5)  # between their clock and ours
MOST_PAGES: Final = 10
_PAGE: Final = 200
_DRAWN = re.compile(r":[a-z0-9_+'-]{1,60}:|[^\x20-\x7e]")  # what Slack may write in another way

Found = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSearch:
    api: SlackWebApi

    async def find(self, call: SlackCall, channel: str, since: datetime, timeout_seconds: float) -> Receipt | None:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._find(call, channel, since, timeout_seconds)
        except TimeoutError:
            pass
        raise DeliveryTimeout("Slack did not say in time whether the message arrived")

    async def message(self, channel: str, stamp: str, timeout_seconds: float) -> Found:
        """As it stands there, in a thread or not."""
        asked = {"channel": channel, "ts": stamp, "oldest": stamp, "latest": stamp, "inclusive": "true", "limit": 1}
        told = await self.api.look("conversations.replies", asked, timeout_seconds)
        for message in _messages(told):
            if message.get("ts") == stamp:
                return message
        raise ValidationError("the Slack message is gone")

    async def _find(self, call: SlackCall, channel: str, since: datetime, timeout_seconds: float) -> Receipt | None:
        async for message in self._since(call, channel, since, timeout_seconds):
            if _mark(message) == call.mark and is_message_id(message.get("ts")):
                return Receipt(message["ts"], conversation=channel)
            if _is_unmarked_twin(message, call):
                raise TargetUnavailable("Slack does not show us which message is which; the app may lack a permission")
        return None

    async def _since(
        self, call: SlackCall, channel: str, since: datetime, timeout_seconds: float
    ) -> AsyncIterator[Found]:
        method = "conversations.replies" if call.thread else "conversations.history"
        asked = _asked(call, channel, since)
        for _ in range(MOST_PAGES):
            told = await self.api.look(method, asked, timeout_seconds)
            for message in _messages(told):
                yield message
            cursor = _next(told)
            if cursor is None:
                return
            asked = asked | {"cursor": cursor}
        raise TargetUnavailable("too much was written at Slack since to look through it all")


def _asked(call: SlackCall, channel: str, since: datetime) -> dict[str, Any]:
    oldest = f"{(since - SKEW).timestamp():.6f}"
    asked = {"channel": channel, "oldest": oldest, "inclusive": "true", "limit": _PAGE, "include_all_metadata": "true"}
    return asked | ({"ts": call.thread} if call.thread else {})


def _messages(told: Found) -> list[Found]:
    messages = told.get("messages")
    if not isinstance(messages, list):
        raise TargetUnavailable("Slack's answer could not be read")
    return [one for one in messages if isinstance(one, Mapping)]


def _next(told: Found) -> str | None:
    more = told.get("response_metadata")
    cursor = more.get("next_cursor") if isinstance(more, Mapping) else None
    if isinstance(cursor, str) and cursor:
        return cursor
    if told.get("has_more") is True:
        raise TargetUnavailable("Slack has more messages and does not say where")
    return None


def _mark(message: Found) -> object:
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    return payload.get("mark") if isinstance(payload, Mapping) else None


def _is_unmarked_twin(message: Found, call: SlackCall) -> bool:
    """Some app wrote the same words and we see no mark: it could be ours with the mark withheld."""
    if "bot_id" not in message or message.get("metadata"):
        return False
    return _plain(str(message.get("text", ""))) == _plain(call.text)


def _plain(text: str) -> str:
    return "".join(_DRAWN.sub("", text).split())
