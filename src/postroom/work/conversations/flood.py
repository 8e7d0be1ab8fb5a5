"""More messages of one sender at once than anybody types: what comes after the first is not read, and said so once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import structlog

from postroom.domain.clock import Clock
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.ports import Outbound
from postroom.domain.said_back import said_back
from postroom.domain.time import seconds
from postroom.work.conversations.notice_ear import ProvedPeople
from postroom.work.conversations.texts import texts_for

_MINUTE_US: Final = seconds(60)
_MOST_SENDERS: Final = 1000  # remembered at a time
_log = structlog.get_logger("postroom.inbound")


@dataclass(slots=True)
class _Sender:
    """When each message was written that was let through, by its name: one that comes again is no new one."""

    heard: dict[str, int] = field(default_factory=dict)
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """Stands before all who store or look anything up, so that the presses of others need not wait."""

    people: ProvedPeople
    outbound: Outbound
    clock: Clock
    most: int
    _senders: dict[tuple[str, str, str], _Sender] = field(default_factory=dict)

    async def handle(self, message: InboundMessage) -> bool:
        sender, at_us = self._sender(message), message.said_at_us or self.clock.now_us()
        if message.event_id in sender.heard:
            return False
        lately = {name: then for name, then in sender.heard.items() if abs(at_us - then) < _MINUTE_US}
        if len(lately) < self.most:
            sender.heard, sender.told = lately | {message.event_id: at_us}, False
            return False
        if not sender.told:
            _log.warning("inbound.flood", source=message.channel, update_id=message.number)
            await self._tell(message)
            sender.told = True
        return True

    def _sender(self, message: InboundMessage) -> _Sender:
        """One who proves nothing uses up nobody else's share."""
        key = (message.channel, message.sender or "", "" if message.sender else message.places[0])
        if key not in self._senders and len(self._senders) >= _MOST_SENDERS:
            del self._senders[next(iter(self._senders))]
        return self._senders.setdefault(key, _Sender())

    async def _tell(self, message: InboundMessage) -> None:
        """A stranger has heard a sentence already."""
        author = message.author if message.alone else None
        person = await self.people.at(message.channel, author) if author is not None else None
        if person is not None:
            words, key = texts_for(person.language).flood.format(most=self.most), f"talk:flood:{message.event_id}"
            said = said_back(message, words, key=f"{key}:{message.channel}", request_id=key)
            await self.outbound.submit(said, request_id=key, wait_seconds=0)
