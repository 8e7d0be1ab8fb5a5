"""A message as a notice to one person."""

from __future__ import annotations

from typing import Final

from postroom.domain.attention import PRIORITY_URGENCY, AcceptedNotice, AttentionWish, derived_id
from postroom.domain.outgoing import Outgoing
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import seconds
from postroom.work.attention.digest import room_of
from postroom.work.attention.facts import NoticeAccepted
from postroom.work.attention.ports import Drafted
from postroom.work.attention.turn import NewNotice

_SHOWN: Final = 200  # characters of a line in a list
_ID: Final = 32  # short enough for a button
_NO_WISH: Final = AttentionWish()


def asks_for_more(wish: AttentionWish | None) -> bool:
    """What is to be remembered even where no one has a policy."""
    if wish is None:
        return False
    critical = wish.urgency is Urgency.CRITICAL  # without a grant it is not, and its sender is told
    return critical or wish.needs_ack or wish.supersedes is not None or wish.expires_in_seconds is not None


def notice_id(key: str) -> str:
    """The same request is the same notice."""
    return derived_id("notice", key)[:_ID]


def new_notice(drafted: Drafted, person: str, request_id: str, now_us: int) -> NewNotice:
    outgoing, wish = drafted.outgoing, drafted.outgoing.wish or _NO_WISH
    notice = AcceptedNotice(
        id=notice_id(drafted.key),
        person=person,
        agent=outgoing.origin_butler,
        created_us=now_us,
        channel=outgoing.channel,
        text=_line(outgoing),
        urgency=wish.urgency or PRIORITY_URGENCY[str(outgoing.priority)],
        category=wish.category,
        thread=wish.thread,
        key=wish.supersedes,
        needs_ack=wish.needs_ack,
        expires_us=now_us + seconds(wish.expires_in_seconds) if wish.expires_in_seconds is not None else None,
        fingerprint=_sameness(outgoing),
        room=room_of(outgoing),
    )
    return NewNotice(
        fact=NoticeAccepted(at_us=now_us, notice=notice),
        outgoing=outgoing,
        request_id=request_id,
        fingerprint=drafted.fingerprint,
    )


def _line(outgoing: Outgoing) -> str:
    words = " ".join((outgoing.subject or outgoing.message).split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"


def _sameness(outgoing: Outgoing) -> str:
    """What says the same, however it is spaced."""
    files = [one.sha256 for one in outgoing.attachments]
    return derived_id(" ".join((outgoing.subject or "").split()), " ".join(outgoing.message.split()), *files)
