"""What people write on a channel: fetched once, in order, and handed to whoever it concerns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from postroom.domain.assurance import Flag
from postroom.domain.clock import Clock
from postroom.domain.errors import PostroomError, StoreUnavailable
from postroom.domain.inbound_message import InboundEvent, InboundMessage, LateNews, Press
from postroom.domain.inbound_reply import InboundReply
from postroom.domain.inbound_trouble import InboundTrouble
from postroom.domain.ports import Listen
from postroom.domain.time import seconds
from postroom.work.questions.listening import Listening, Marks

_POLL_SECONDS: Final = 25.0
_PAUSE_SECONDS: Final = 5.0
UNKNOWN: Final = "unknown"  # what an earlier process left may still stand in the record
_log = structlog.get_logger("postroom.inbound")

Handler = Callable[[InboundEvent], Awaitable[bool]]  # True when the event was this handler's
MessageHandler = Callable[[InboundMessage], Awaitable[bool]]


class Troubles(Protocol):
    async def begin(self, trouble: InboundTrouble) -> None: ...

    async def end(self, channel: str) -> None: ...


class TakesOver(Protocol):
    async def taken(self, message: InboundMessage, channel: object) -> InboundMessage:
        """With the files that came with it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """
    One account has one reader, so everybody who listens is a handler here.

    The place in the stream is saved after the handlers are done: a crash shows
    them a message again, and they take the second time for what it is.
    """

    source: str
    bot: Listen
    offsets: Marks
    handlers: Sequence[Handler]
    clock: Clock
    watch: Listening | None = None
    troubles: Troubles | None = None
    files: TakesOver | None = None
    _said: list[str] = field(default_factory=lambda: [UNKNOWN])

    async def look(self) -> int:
        """One request, and the next one at once unless the channel is away."""
        try:
            await self.poll(await self.watch.patience(self.source, _POLL_SECONDS) if self.watch else _POLL_SECONDS)
        except PostroomError as error:
            await self._say(error)
            return self.clock.now_us() + seconds(_PAUSE_SECONDS)
        await self._say(None)
        return self.clock.now_us()

    async def _say(self, error: PostroomError | None) -> None:
        """Once for each change: a login that is refused for a week is one line and one sentence."""
        sentence = error.message if error else ""
        if sentence == self._said[0]:
            return
        if error is not None:
            _log.warning("inbound.unavailable", source=self.source, error_class=str(error.error_class))
        elif self._said[0] != UNKNOWN:
            _log.info("inbound.available", source=self.source)
        with suppress(StoreUnavailable):
            await self._note(sentence)
            self._said[0] = sentence

    async def _note(self, sentence: str) -> None:
        if self.troubles is None:
            return
        if sentence:
            trouble = InboundTrouble(channel=self.source, sentence=sentence, since_us=self.clock.now_us())
            await self.troubles.begin(trouble)
        else:
            await self.troubles.end(self.source)

    async def poll(self, wait_seconds: float) -> int:
        """One request; returns how many things people did came."""
        offset, began_us = await self.offsets.offset(self.source), self.clock.now_us()
        heard = await self.bot.listen(offset, wait_seconds)
        for event in presses_first(heard.events):
            await hand_over(await self._with_files(event), self.handlers, self.source)
        if heard.position is not None:
            await self.offsets.save_offset(self.source, heard.position)
        if self.watch:
            await self.watch.looked(self.source, began_us, everything=heard.everything)
        return len(heard.events)

    async def _with_files(self, event: InboundEvent) -> InboundEvent:
        if self.files is None or not isinstance(event, InboundMessage):
            return event
        return await self.files.taken(event, self.bot)


def presses_first(events: Sequence[InboundEvent]) -> list[InboundEvent]:
    """A press dies soon, so those who pressed are heard before all others; each in the order of what they did."""
    pressing = {event.sender for event in events if isinstance(event, Press)}
    return sorted(events, key=lambda event: not isinstance(event, LateNews) and event.sender not in pressing)


async def hand_over(event: InboundEvent, handlers: Sequence[Handler], source: str) -> None:
    """An event that a handler stumbles over would come again for ever, and hold up all behind it."""
    for handler in handlers:
        try:
            if await handler(event):
                return
        except PostroomError:
            raise
        except Exception as error:
            _log.error("inbound.bug", source=source, error=type(error).__name__)


class Conversations(Protocol):
    async def hear(self, channel: str, address: str, thread: str, now_us: int) -> None:
        """Remembers where somebody wrote to us."""
        ...


class ReplyTaker(Protocol):
    async def take(self, reply: InboundReply) -> object | None:
        """None when it answers nothing of ours."""
        ...


def of_messages(handle: MessageHandler) -> Handler:
    """Presses are for others."""

    async def only_messages(event: InboundEvent) -> bool:
        return isinstance(event, InboundMessage) and await handle(event)

    return only_messages


class Originals(Protocol):
    async def keep(self, message: InboundMessage, now_us: int) -> None: ...


def originals_handler(originals: Originals, clock: Clock) -> Handler:
    """Keeps what a person wrote with its quotes, where the answer is read without them; takes nothing itself."""

    async def handle(message: InboundMessage) -> bool:
        if message.answers is not None and message.original and message.author is not None:
            await originals.keep(message, clock.now_us())
        return False

    return of_messages(handle)


class Reopening(Protocol):
    async def reopen_bounced(self, channel: str, address: str) -> bool: ...


def reopening_handler(closed: Reopening) -> Handler:
    """An address from which a person provably writes takes mail, whatever came back before; takes nothing itself."""

    async def handle(message: InboundMessage) -> bool:
        if message.author is not None:
            await closed.reopen_bounced(message.channel, message.author)
        return False

    return of_messages(handle)


def hearing_handler(conversations: Conversations, clock: Clock) -> Handler:
    """
    Remembers that a message came in, so that an answer to it is known to be one; takes nothing for itself.

    Where the sender is not proved, others could make us write to an address that never wrote.
    """

    async def handle(message: InboundMessage) -> bool:
        for address in () if Flag.UNVERIFIED in message.flags else message.places:
            await conversations.hear(message.channel, address, message.message_id, clock.now_us())
        return False

    return of_messages(handle)


def reply_handler(replies: ReplyTaker) -> Handler:
    """Answers to our own messages; everything else, and everybody else, is left alone."""

    async def handle(message: InboundMessage) -> bool:
        for reply in replies_in(message):
            if await replies.take(reply) is not None:
                return True
        return False

    return of_messages(handle)


def replies_in(message: InboundMessage) -> list[InboundReply]:
    """The reply under each address its place is known by; none when no person wrote it there."""
    if message.author is None or message.replies_to is None or message.text is None:
        return []
    return [
        InboundReply(
            channel=message.channel,
            address=one,
            sender=message.author,
            provider_id=message.replies_to,
            text=message.text,
            thread=message.thread_identity,
            assurance=message.assurance,
        )
        for one in message.places
    ]
