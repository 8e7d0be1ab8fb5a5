"""The e-mails of an inbox: copies of notifications, one by one or as a digest, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.delivery.accept import Plane
from postroom.delivery.model import PRIORITY_RANK
from postroom.inbox.model import (
    AskedToConfirm,
    Batch,
    Ending,
    GivenUp,
    HandedOver,
    Notification,
    TryAgain,
    shortened,
)
from postroom.inbox.store.mail import StoredConfirmations
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import seconds, to_datetime
from postroom.kernel.values.zones import known_zone, zone_word
from postroom.message.delivery import Priority
from postroom.message.outgoing import Outcome, Outgoing
from postroom.message.wishes import AttentionWish, rank
from postroom.people.model import CONFIRMATION_ORIGIN, Purpose

ORIGIN: Final = "inbox"
_SUBJECT_CHARACTERS: Final = 60


def outgoing(batch: Batch) -> Outgoing:
    """The batch's id is the key: whoever hands it over again sends nothing new."""
    return Outgoing(
        origin_butler=ORIGIN,
        idempotency_key=f"inbox-email:{batch.id}",
        priority=_most_urgent(batch.notifications),
        channel="email",
        recipient=batch.address,
        subject=subject(batch.notifications),
        message=body(batch.notifications, batch.zone),
        wish=_wish(batch.notifications),
    )


def _wish(notifications: Sequence[Notification]) -> AttentionWish | None:
    """What is still to be asked for when it leaves: its keys and its expiry were looked at while it waited."""
    asked = [one.wish for one in notifications if one.wish is not None]
    if not asked:
        return None
    alone = asked[0] if len(notifications) == 1 else AttentionWish()
    return AttentionWish(
        urgency=max((one.urgency for one in asked if one.urgency is not None), key=rank, default=None),
        category=alone.category,
        thread=alone.thread,
        needs_ack=any(one.needs_ack for one in asked),
    )


def subject(notifications: Sequence[Notification]) -> str:
    if len(notifications) > 1:
        return f"{len(notifications)} notifications"
    one = notifications[0]
    return f"{one.type.capitalize()}: {shortened(one.message, _SUBJECT_CHARACTERS)}".rstrip(": ")


def body(notifications: Sequence[Notification], zone: str) -> str:
    if len(notifications) == 1:
        return _text(notifications[0])
    entries = "\n\n".join(_entry(one, zone) for one in notifications)
    return f"These notifications came in while you did not want to be disturbed:\n\n{entries}"


def _entry(one: Notification, zone: str) -> str:
    when = to_datetime(one.created_at_us).astimezone(known_zone(zone))
    return f"{when:%a %d %b, %H:%M} {zone_word(when)}  {one.type.capitalize()}\n{_text(one)}"


def _text(one: Notification) -> str:
    return f"{one.message}\n\n{one.link}" if one.link else one.message


def _most_urgent(notifications: Sequence[Notification]) -> Priority:
    return min((one.priority for one in notifications), key=PRIORITY_RANK.__getitem__)


# What the plane's answer means for an e-mail of the inbox.

_LONGEST_PAUSE_SECONDS: Final = 900.0
_MOST_ATTEMPTS: Final = 100  # about a day at the longest pause


def ending_of(outcome: Outcome, attempts: int, now_us: int) -> Ending:
    """The plane keeps whatever it accepted; from here on only a refusal is ours to deal with."""
    error = outcome.error
    if error is None or outcome.delivery_id is not None:
        return HandedOver(outcome.delivery_id)
    if isinstance(error, ValidationError) and any(one.code == "key_reused" for one in error.fields):
        return HandedOver(None)  # accepted before, in words an earlier version of us chose
    reason = str(error.error_class)
    if not outcome.retryable or attempts + 1 >= _MOST_ATTEMPTS:
        return GivenUp(reason)
    pause = max(min(2.0**attempts, _LONGEST_PAUSE_SECONDS), error.retry_after_seconds or 0.0)
    return TryAgain(now_us + seconds(pause), reason)


# Ask an address whether it is a person's own, in words that only we chose.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationPost:
    queue: StoredConfirmations
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
            await self.queue.settle(asked, ending_of(outcome, asked.attempts - 1, ended_us), ended_us)
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
