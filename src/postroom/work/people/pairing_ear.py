"""Hears codes: who sends one from their own account is the person it was made for, and their account is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from postroom.domain.clock import Clock
from postroom.domain.errors import Refused
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.pairing import CodeSent
from postroom.domain.person import Person
from postroom.domain.ports import Outbound
from postroom.domain.said_back import said_back
from postroom.work.people.pairing import Codes, codes_in

PAIRED: Final = "Thank you, {name}: this account is verified as yours, and what you answer from it counts."
_log = structlog.get_logger("postroom.pairing")


class PairingRecord(Protocol):
    async def redeem(self, sent: CodeSent, now_us: int) -> Person | None:
        """The person whose address the sender's is from now on; None when no code was right, or none helps."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingEar:
    """Where only the person and we are; to all who send no right code it is as if there were no codes."""

    record: PairingRecord
    codes: Codes
    outbound: Outbound
    clock: Clock

    async def words(self, message: InboundMessage) -> bool:
        """Whether it was a pairing; if not, it is for others to hear."""
        sender = message.author if message.alone else None
        found = codes_in(message.text or "") if sender is not None else ()
        if sender is None or not found:
            return False
        sent = CodeSent(
            channel=message.channel,
            sender=sender,
            event_id=message.event_id,
            digests=tuple(self.codes.digest(code) for code in found),
        )
        try:
            person = await self.record.redeem(sent, self.clock.now_us())
        except Refused as error:
            _log.warning("pairing.refused", channel=message.channel, reason=error.message)
            return True
        if person is not None:
            await self._say(message, person)
        return person is not None

    async def _say(self, message: InboundMessage, person: Person) -> None:
        key = f"paired:{message.channel}:{message.event_id}"
        reply = said_back(message, PAIRED.format(name=person.name), key=key, request_id=key)
        await self.outbound.submit(reply, request_id=key, wait_seconds=0)
