"""`/here`: a person with several proved addresses says which one is tried first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from postroom.domain.address_order import has_proved, with_first
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.clock import Clock
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.person import Person
from postroom.domain.ports import Outbound
from postroom.domain.said_back import said_back
from postroom.work.people.people import PersonStore

FIRST_HERE: Final = "From now on you are written to here first; send /here from another place to change it."
_COMMAND: Final = re.compile(r"/here(@\w{1,64})?", re.IGNORECASE | re.ASCII)
_WORDS: Final = re.compile(r"(please\s+)?write to me here(\s+instead)?\s*[.!]?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHere:
    people: PersonStore
    outbound: Outbound
    clock: Clock

    async def words(self, message: InboundMessage) -> bool:
        """Who has not proved the place gets what every other word would get there."""
        sender = message.author if message.alone and asks_for_here(message) else None
        person = await self._person(message.channel, sender) if sender is not None else None
        if sender is None or person is None:
            return False
        await self.people.change(
            HOUSEHOLD_OWNER,
            person.id,
            lambda known: with_first(known, message.channel, sender),
            now_us=self.clock.now_us(),
        )
        key = f"here:{message.channel}:{message.event_id}"
        reply = said_back(message, FIRST_HERE, key=key, request_id=key)
        await self.outbound.submit(reply, request_id=key, wait_seconds=0)
        return True

    async def _person(self, channel: str, sender: str) -> Person | None:
        found = await self.people.at(HOUSEHOLD_OWNER, channel, sender)
        return next((one for one in found if has_proved(one, channel, sender)), None)


def asks_for_here(message: InboundMessage) -> bool:
    """Words that answer one of our messages are an answer."""
    text = (message.text or "").strip()
    return bool(_COMMAND.fullmatch(text) or (message.replies_to is None and _WORDS.fullmatch(text)))
