"""The e-mail that carries one notification, or several that waited for the morning."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from postroom.domain.attention import AttentionWish, rank
from postroom.domain.delivery import Priority
from postroom.domain.email_copy import Batch
from postroom.domain.ledger import PRIORITY_RANK
from postroom.domain.notification import Notification
from postroom.domain.outgoing import Outgoing
from postroom.domain.time import to_datetime
from postroom.domain.wall_clock import known_zone, zone_word

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


def shortened(text: str, most: int) -> str:
    """One line of plain characters: nothing in it can end a header or pose as an encoded one."""
    line = " ".join(text.split())
    line = "".join(one for one in line if unicodedata.category(one) not in ("Cc", "Cs")).replace("=?", "= ?").strip()
    return line if len(line) <= most else f"{line[: most - 3].rstrip()}..."


def _entry(one: Notification, zone: str) -> str:
    when = to_datetime(one.created_at_us).astimezone(known_zone(zone))
    return f"{when:%a %d %b, %H:%M} {zone_word(when)}  {one.type.capitalize()}\n{_text(one)}"


def _text(one: Notification) -> str:
    return f"{one.message}\n\n{one.link}" if one.link else one.message


def _most_urgent(notifications: Sequence[Notification]) -> Priority:
    return min((one.priority for one in notifications), key=PRIORITY_RANK.__getitem__)
