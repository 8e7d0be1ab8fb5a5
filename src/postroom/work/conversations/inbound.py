"""What people write to the bot: fetched once, in order, and handed to whoever it concerns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import structlog

from postroom.domain.errors import PostroomError
from postroom.domain.inbound_reply import InboundReply
from postroom.domain.ports import Clock
from postroom.domain.time import seconds

_POLL_SECONDS: Final = 25.0
_PAUSE_SECONDS: Final = 5.0
_MOST_UPDATES: Final = 100  # more than these wait for the next request
_NOT_OWN_WORDS: Final = frozenset(
    [
        "forward_origin",
        "forward_from",
        "forward_from_chat",
        "forward_sender_name",
        "forward_date",
        "is_automatic_forward",
        "sender_chat",
        "sender_business_bot",
        "via_bot",
    ]
)
_log = structlog.get_logger("postroom.inbound")

Handler = Callable[[Mapping[str, Any]], Awaitable[bool]]  # True when the update was this handler's


@runtime_checkable
class Updates(Protocol):
    """A bot that can be asked what people wrote."""

    async def updates(self, offset: int | None, timeout_seconds: float) -> list[dict[str, Any]]: ...


class Offsets(Protocol):
    async def offset(self, source: str) -> int | None: ...

    async def save_offset(self, source: str, position: int) -> None: ...


class Watch(Protocol):
    """Knows how far what people sent has been read."""

    async def patience(self, channel: str, longest_seconds: float) -> float: ...

    async def looked(self, channel: str, began_us: int, *, everything: bool) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """
    One bot has one reader, so everybody who listens is a handler here.

    The place in the stream is saved after the handlers are done: a crash shows
    them an update again, and they take the second time for what it is.
    """

    source: str
    bot: Updates
    offsets: Offsets
    handlers: Sequence[Handler]
    clock: Clock
    watch: Watch | None = None

    async def look(self) -> int:
        """One request, and the next one at once unless the bot is away."""
        try:
            await self.poll(await self.watch.patience(self.source, _POLL_SECONDS) if self.watch else _POLL_SECONDS)
        except PostroomError as error:
            _log.warning("inbound.unavailable", source=self.source, error_class=str(error.error_class))
            return self.clock.now_us() + seconds(_PAUSE_SECONDS)
        return self.clock.now_us()

    async def poll(self, wait_seconds: float) -> int:
        """One request; returns how many updates came."""
        offset, began_us = await self.offsets.offset(self.source), self.clock.now_us()
        updates = await self.bot.updates(offset, wait_seconds)
        for update in updates:
            await self._hand_over(update)
        numbers = [number for update in updates if isinstance(number := update.get("update_id"), int)]
        if numbers:
            await self.offsets.save_offset(self.source, max(numbers) + 1)
        if self.watch:
            await self.watch.looked(self.source, began_us, everything=len(updates) < _MOST_UPDATES)
        return len(updates)

    async def _hand_over(self, update: Mapping[str, Any]) -> None:
        """An update that somebody stumbles over would come again for ever, and hold up all behind it."""
        for handler in self.handlers:
            try:
                if await handler(update):
                    return
            except PostroomError:
                raise
            except Exception as error:
                _log.error("inbound.bug", source=self.source, error=type(error).__name__)


class Conversations(Protocol):
    async def hear(self, channel: str, address: str, thread: str, now_us: int) -> None:
        """Remembers where somebody wrote to us."""
        ...


class Replies(Protocol):
    async def take(self, reply: InboundReply) -> object | None:
        """None when it answers nothing of ours."""
        ...


def hearing_handler(conversations: Conversations, clock: Clock) -> Handler:
    """Remembers that a message came in, so that an answer to it is known to be one; takes nothing for itself."""

    async def handle(update: Mapping[str, Any]) -> bool:
        message = update.get("message")
        chat = message.get("chat") if isinstance(message, Mapping) else None
        if isinstance(message, Mapping) and isinstance(chat, Mapping):
            thread = str(message.get("message_id"))
            for address in _addresses(chat):
                await conversations.hear("telegram", address, thread, clock.now_us())
        return False

    return handle


def reply_handler(replies: Replies) -> Handler:
    """Answers to our own messages; everything else, and everybody else, is left alone."""

    async def handle(update: Mapping[str, Any]) -> bool:
        for reply in telegram_replies(update):
            if await replies.take(reply) is not None:
                return True
        return False

    return handle


def telegram_replies(update: Mapping[str, Any]) -> list[InboundReply]:
    """The reply in an update under each address its chat is known by; none when no person wrote it there."""
    message = update.get("message")
    sender = _writer(message) if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or sender is None:
        return []
    replied, chat, text = message.get("reply_to_message"), message.get("chat"), message.get("text")
    if not isinstance(replied, Mapping) or not isinstance(chat, Mapping) or not isinstance(text, str):
        return []
    return [
        InboundReply(
            channel="telegram", address=one, sender=sender, provider_id=str(replied.get("message_id")), text=text
        )
        for one in _addresses(chat)
    ]


def _writer(message: Mapping[str, Any]) -> str | None:
    """The person who wrote this; None for bots, for words of others passed on, and for those who hide behind a chat."""
    writer = message.get("from")
    if not isinstance(writer, Mapping) or type(writer.get("id")) is not int or writer.get("is_bot") is not False:
        return None
    return None if _NOT_OWN_WORDS & message.keys() else str(writer["id"])


def _addresses(chat: Mapping[str, Any]) -> list[str]:
    name = chat.get("username")
    return [str(chat.get("id")), *([f"@{name}".lower()] if isinstance(name, str) else [])]
