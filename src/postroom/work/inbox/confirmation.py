"""Asks an address whether it is a person's own, in words that only we chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.clock import Clock
from postroom.domain.confirmation_origin import CONFIRMATION_ORIGIN, Purpose
from postroom.domain.email_confirmation import AddressClaim, AskedToConfirm
from postroom.domain.email_copy import Ending
from postroom.domain.outgoing import Outgoing
from postroom.domain.time import seconds
from postroom.work.delivery.plane import Plane
from postroom.work.inbox.ending import ending_of

PATH: Final = "/confirm"
_SUBJECT: Final = "Please confirm your address"
_BODY: Final = """\
This address was given as the place for copies of somebody's notifications.

If it was you, open this page and press the button there:

{link}

The link works once, for a day. If it was not you, do nothing: no copies will come here."""


_PAIRING: Final = """\
The household that sends this wants to know whether this address is yours.

If you know of it, open this page and press the button there; what you answer from here counts from then on:

{link}

The link works once, for an hour. If you know nothing of it, do nothing."""
_BODIES: Final = {Purpose.INBOX: _BODY, Purpose.PAIRING: _PAIRING}


class ConfirmationQueue(Protocol):
    """Addresses that wait to be asked, and the links that answer."""

    async def take(self, *, now_us: int, lease_until_us: int, copies: bool = True) -> Sequence[AskedToConfirm]:
        """
        What is due, each under a new secret; a link sent before it stops working.

        Without `copies`, only what proves an address.
        """
        ...

    async def settle(self, asked: AskedToConfirm, ending: Ending, now_us: int) -> None: ...


class Confirmations(Protocol):
    async def claim(self, secret: str, now_us: int) -> AddressClaim | None:
        """What this link would confirm; None when it is unknown, used, too old or no longer wanted."""
        ...

    async def confirm(self, secret: str, now_us: int) -> AddressClaim | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationPost:
    queue: ConfirmationQueue
    plane: Plane
    clock: Clock
    base_url: str
    lease_seconds: float

    async def send_due(self, *, copies: bool) -> int:
        now_us = self.clock.now_us()
        lease_until_us = now_us + seconds(self.lease_seconds)
        due = await self.queue.take(now_us=now_us, lease_until_us=lease_until_us, copies=copies)
        for asked in due:
            outgoing = confirmation(asked, self.base_url, is_letter=self._is_letter(asked.channel))
            outcome = await self.plane.submit(outgoing, request_id=asked.digest[:32], wait_seconds=0)
            ended_us = self.clock.now_us()
            await self.queue.settle(asked, ending_of(outcome, asked.attempts, ended_us), ended_us)
        return len(due)

    def _is_letter(self, channel: str) -> bool:
        can = self.plane.known_channels.get(channel)
        return can is not None and can.style == "letter"


def confirmation(asked: AskedToConfirm, base_url: str, *, is_letter: bool = True) -> Outgoing:
    return Outgoing(
        origin_butler=CONFIRMATION_ORIGIN,
        idempotency_key=f"inbox-confirmation:{asked.digest[:32]}",
        channel=asked.channel,
        recipient=asked.address,
        subject=_SUBJECT if is_letter else None,
        message=_BODIES[asked.purpose].format(link=f"{base_url}{PATH}/{asked.secret}"),
    )
