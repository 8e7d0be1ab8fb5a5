"""Notices and policies for tests, in as few words as they need."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.state import AttentionState, NoticeAccepted
from postroom.kernel.values.ids import seconds, to_us
from postroom.message.wishes import AcceptedNotice, Urgency

PERSON = "ada"
OTHER = "grace"
MINUTE = seconds(60)
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NIGHT = [{"from": "22:00", "until": "07:00"}]


def at(text: str, zone: str = "UTC", fold: int = 0) -> int:
    """A wall clock time; a short one such as 09:30 is on Monday, 2026-01-05."""
    whole = text if "-" in text else f"2026-01-05T{text}"
    return to_us(datetime.fromisoformat(whole).replace(tzinfo=ZoneInfo(zone), fold=fold))


def notice(name: str, moment: int | str, urgency: str = "normal", **fields: Any) -> AcceptedNotice:
    created = at(moment) if isinstance(moment, str) else moment
    standard: dict[str, Any] = {"agent": "cook", "channel": "telegram", "text": f"text of {name}", "fingerprint": name}
    return AcceptedNotice(
        id=name, person=PERSON, created_us=created, urgency=Urgency(urgency), **{**standard, **fields}
    )


def accepted(name: str, moment: int | str, urgency: str = "normal", **fields: Any) -> NoticeAccepted:
    made = notice(name, moment, urgency, **fields)
    return NoticeAccepted(at_us=made.created_us, notice=made)


def book(policy: dict[str, Any] | None = None, household: dict[str, Any] | None = None, **others: Any) -> PolicyBook:
    people = {name: parse_policy(one) for name, one in others.items()}
    if policy is not None:
        people[PERSON] = parse_policy(policy)
    return PolicyBook(household=parse_policy(household) if household is not None else None, people=people)


def empty() -> AttentionState:
    return AttentionState(person=PERSON)
